package cosmos

import (
	"fmt"
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// region is the account's only region, named as Microsoft's emulator names its
// own.
const region = "South Central US"

// queryEngine is what clients with a query engine of their own are told about
// the service's. .NET's has no defaults: it throws when one is missing.
var queryEngine = fmt.Sprintf(`{"maxSqlQueryInputLength":%d,"maxJoinsPerSqlQuery":10,"maxLogicalAndPerSqlQuery":2000,`+
	`"maxLogicalOrPerSqlQuery":2000,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,"queryMaxGroupByTableCellCount":500000,`+
	`"queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,"sqlAllowNonFiniteNumbers":false,`+
	`"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"sqlAllowScalarSubQuery":true,"allowNewKeywords":true,"sqlAllowLike":true,`+
	`"sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,"sqlDisableOptimizationFlags":0,`+
	`"sqlEnableParameterExpansionCheck":true,"sqlAllowTop":true,"enableSpatialIndexing":true}`, maxQueryBytes)

// readAccount answers GET /. Clients send everything that follows to the
// endpoints named here, so these are the address and scheme that were asked.
func (s *Server) readAccount(c *call) (*response, error) {
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	location := sql.ArrayValue(sql.ObjectValue(
		text("name", region),
		text("databaseAccountEndpoint", scheme+"://"+c.Host+"/"),
	))
	replication := sql.ObjectValue(
		sql.Field{Name: "asyncReplication", Value: sql.BoolValue(false)},
		integer("minReplicaSetSize", 1),
		integer("maxReplicasetSize", 4),
	)
	return newResponse(http.StatusOK, sql.AppendJSON(nil, sql.ObjectValue(
		text("_self", ""),
		text("id", s.accountName),
		text("_rid", s.accountName),
		text("media", "//media/"),
		text("addresses", "//addresses/"),
		text("_dbs", "//dbs/"),
		sql.Field{Name: "writableLocations", Value: location},
		sql.Field{Name: "readableLocations", Value: location},
		sql.Field{Name: "enableMultipleWriteLocations", Value: sql.BoolValue(false)},
		sql.Field{Name: "userReplicationPolicy", Value: replication},
		sql.Field{Name: "userConsistencyPolicy", Value: sql.ObjectValue(text("defaultConsistencyLevel", "Session"))},
		sql.Field{Name: "systemReplicationPolicy", Value: replication},
		sql.Field{Name: "readPolicy", Value: sql.ObjectValue(
			integer("primaryReadCoefficient", 1),
			integer("secondaryReadCoefficient", 1),
		)},
		text("queryEngineConfiguration", queryEngine),
	))), nil
}
