package cosmos

import (
	"net/http"
	"slices"
	"strings"
)

type handler func(*Server, *call) (*response, error)

// routes are the resources that are served, by the pattern of their path and the
// method.
var routes = map[string]map[string]handler{
	"": {http.MethodGet: (*Server).readAccount},
	"dbs": {
		http.MethodGet:  (*Server).listDatabases,
		http.MethodPost: (*Server).createOrQueryDatabases,
	},
	"dbs/*": {
		http.MethodGet:    (*Server).readDatabase,
		http.MethodDelete: (*Server).deleteDatabase,
	},
	"dbs/*/colls": {
		http.MethodGet:  (*Server).listContainers,
		http.MethodPost: (*Server).createOrQueryContainers,
	},
	"dbs/*/colls/*": {
		http.MethodGet:    (*Server).readContainer,
		http.MethodPut:    (*Server).replaceContainer,
		http.MethodDelete: (*Server).deleteContainer,
	},
	"dbs/*/colls/*/pkranges": {http.MethodGet: (*Server).listRanges},
	"dbs/*/colls/*/docs": {
		http.MethodGet:  (*Server).listItems,
		http.MethodPost: (*Server).postItems,
	},
	"dbs/*/colls/*/docs/*": {
		http.MethodGet:    (*Server).readItem,
		http.MethodPut:    (*Server).replaceItem,
		http.MethodPatch:  (*Server).patchItem,
		http.MethodDelete: (*Server).deleteItem,
	},
	"offers":   {http.MethodGet: (*Server).listOffers, http.MethodPost: (*Server).queryOffers},
	"offers/*": {http.MethodGet: (*Server).readOffer, http.MethodPut: (*Server).replaceOffer},
}

// unserved are the resource types of the service that this account lacks.
var unserved = []string{
	"users", "permissions", "sprocs", "triggers", "udfs", "conflicts", "attachments",
	"clientencryptionkeys", "media", "addresses", "topology", "operations", "partitionkeydelete",
}

func unknownResource(t target) *apiError {
	if slices.Contains(unserved, t.kind) {
		return badRequest("Resources of type '%s' are not supported by this account.", t.kind)
	}
	return newError(http.StatusNotFound, 0, "Resource Not Found.")
}

// checkHeaders refuses the headers that change what a request means and that
// the account does not serve.
func checkHeaders(h http.Header) error {
	for _, name := range []string{"x-ms-documentdb-pre-trigger-include", "x-ms-documentdb-post-trigger-include"} {
		if v := h.Get(name); v != "" {
			return badRequest("The trigger '%s' specified in the header '%s' does not exist.", v, name)
		}
	}
	if v := h.Get("x-ms-indexing-directive"); strings.EqualFold(v, "Exclude") {
		return badRequest("The indexing directive '%s' is not supported by this account.", v)
	}
	switch level := h.Get("x-ms-consistency-level"); strings.ToLower(level) {
	case "", "session", "consistentprefix", "eventual":
	default:
		return newError(http.StatusBadRequest, 0, "ConsistencyLevel %s specified in the request is invalid when service is configured with consistency level Session. "+
			"Ensure the request consistency level is not stronger than the service consistency level.", level)
	}
	if strings.EqualFold(h.Get("x-ms-cosmos-is-query-plan-request"), "true") {
		return badRequest("Query plans are not supported by this account.")
	}
	return nil
}
