package cosmos

import (
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// maxPatchOperations is the most that one patch may have (Microsoft Learn,
// "Partial document update in Azure Cosmos DB").
const maxPatchOperations = 10

// A patch is a partial document update: operations that apply in order, all or
// none, if the condition holds.
type patch struct {
	condition  *sql.Query // nil: none
	operations []patchOperation
}

type patchOperation struct {
	op    string
	path  []string
	from  []string  // of move
	value sql.Value // of add, set, replace and incr
}

// parsePatch reads the body of a patch request: an object, or its operations
// alone, as JavaScript's SDK sends them.
func parsePatch(c *container, body sql.Value) (*patch, error) {
	list := body
	if list.Kind() != sql.Array {
		list = body.Member("operations")
	}
	if list.Kind() != sql.Array || list.Len() == 0 {
		return nil, badRequest("The patch request has no operations.")
	}
	if list.Len() > maxPatchOperations {
		return nil, badRequest("The number of patch operations can't exceed '%d'.", maxPatchOperations)
	}
	p := &patch{}
	if text := body.Member("condition"); text.Kind() == sql.String {
		condition, err := sql.ParseCondition(text.Text())
		if err != nil {
			return nil, queryError(err)
		}
		p.condition = condition
	} else if text.Kind() != sql.Undefined && text.Kind() != sql.Null {
		return nil, badRequest("The condition of the patch request is not a string.")
	}
	for i := range list.Len() {
		op, err := parsePatchOperation(c, list.Index(i))
		if err != nil {
			return nil, err
		}
		p.operations = append(p.operations, op)
	}
	return p, nil
}

func parsePatchOperation(c *container, v sql.Value) (patchOperation, error) {
	op := patchOperation{op: v.Member("op").Text(), value: v.Member("value")}
	var err error
	if op.path, err = parsePatchPath(c, v.Member("path").Text()); err != nil {
		return op, err
	}
	switch op.op {
	case "add", "set", "replace":
		if op.value.Kind() == sql.Undefined {
			return op, badRequest("The patch operation '%s' has no value.", op.op)
		}
	case "incr":
		if op.value.Kind() != sql.Number {
			return op, badRequest("The value of the patch operation 'incr' is not a number.")
		}
	case "remove":
	case "move":
		if op.from, err = parsePatchPath(c, v.Member("from").Text()); err != nil {
			return op, err
		}
	default:
		return op, badRequest("The patch operation '%s' is not supported.", op.op)
	}
	return op, nil
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// parsePatchPath splits a JSON pointer, and refuses what a patch can't change:
// the service's properties, the id and the partition key.
func parsePatchPath(c *container, text string) ([]string, error) {
	if len(text) < 2 || text[0] != '/' {
		return nil, badRequest("The patch path '%s' is invalid.", text)
	}
	path := strings.Split(text[1:], "/")
	for i, segment := range path {
		path[i] = pointerEscapes.Replace(segment)
	}
	switch path[0] {
	case "id", "_rid", "_self", "_etag", "_attachments", "_ts":
		return nil, badRequest("Cannot update the system property '%s' by patch.", path[0])
	}
	common := min(len(path), len(c.path))
	if strings.Join(path[:common], "/") == strings.Join(c.path[:common], "/") {
		return nil, badRequest("Cannot update the partition key path '%s' by patch.", text)
	}
	return path, nil
}

// apply makes the draft of the patched item.
func (p *patch) apply(c *container, existing sql.Value) (draft, error) {
	if p.condition != nil && !p.condition.Matches(existing) {
		return draft{}, errPrecondition()
	}
	v := existing
	for _, op := range p.operations {
		var err error
		if v, err = op.apply(v); err != nil {
			return draft{}, err
		}
	}
	return checkDraft(c, v)
}

func (op patchOperation) apply(v sql.Value) (sql.Value, error) {
	if op.op != "move" {
		return edit(v, op.path, op)
	}
	moved := lookup(v, op.from)
	if moved.Kind() == sql.Undefined {
		return v, errNoPath(op.from)
	}
	v, err := edit(v, op.from, patchOperation{op: "remove"})
	if err != nil {
		return v, err
	}
	return edit(v, op.path, patchOperation{op: "add", value: moved})
}

// errNoPath is for a path whose parent, or whose end where it must exist, is
// missing.
func errNoPath(path []string) *apiError {
	return badRequest("Given Operation can only create a child object of an existing node(array or object) and cannot create path recursively, no path found beyond: '%s'.", path[0])
}
