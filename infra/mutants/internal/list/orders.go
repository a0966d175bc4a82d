package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// ofOrders is the overlay with which chaos runs the second business.
const ofOrders = "shared/orders/overlay/overlay.json"

// orders are faults in the second business, and in the façade, which only it has.
var orders = []mutant.Mutant{
	{
		Name: "charge-without-its-undo", Breaks: "Nobody gives the money back for an order that fails after its charge.",
		File:   "shared/orders/steps.go",
		Before: "Call: charge, Undo: workflow.DeleteOf(charge),", After: "Call: charge,",
		Tests: in("./shared/orders"), Invariant: "money", Business: ofOrders,
	},
	{
		Name: "reserved-again", Breaks: "An item doesn't know a repeated reservation, and keeps its quantity twice.",
		File:   "shared/orders/stock/stock.go",
		Before: "at := slices.IndexFunc(i.Holds, func(h Hold) bool { return h.TransactionID == by.TransactionID })", After: "at := -1",
		Tests: in("./shared/orders/stock"), Invariant: "stock", Business: ofOrders,
	},
	{
		Name: "stock's-tombstone-ignored", Breaks: "A late reservation takes the stock of an order that was undone.",
		File:   "shared/orders/stock/stock.go",
		Before: `if change, err := rec.Admit(by, hash); err != nil || change == "" {`, After: `if change, err := rec.Admit(by, hash); err == nil && change == "" {`,
		Tests: in("./shared/orders/stock"), Invariant: "stock", Business: ofOrders,
		// Calls come late and all else goes well: then an order is undone before they do.
		Chaos: []string{"-faults", "backend.late=0.5", "-crash-points=false", "-tree-kills", "0"},
	},
	{
		Name: "learned-without-a-tombstone", Breaks: "An undo that has to learn what was made leaves no tombstone before it asks, and a late call makes it good again.",
		File:   "shared/facade/undo.go",
		Before: "live := rec.Live()\n\t\tif !rec.Delete(", After: "live := rec.Live()\n\t\tif !live && len(rec.Content.Open) > 0 {\n\t\t\treturn false, nil\n\t\t}\n\t\tif !rec.Delete(",
		Tests: in("./shared/facade"), Invariant: "undone", Business: ofOrders,
	},
	{
		Name: "key-of-each-try", Breaks: "Each try of a post has a key of its own, and the service makes what was asked for once more.",
		File:   "shared/facade/content.go",
		Before: "strconv.Itoa(p.Revision)", After: "strconv.FormatInt(time.Now().UnixNano(), 36)",
		Tests: in("./shared/facade"), Invariant: "money", Business: ofOrders,
	},
	{
		Name: "unanswered-is-not-taken-back", Breaks: "An undo takes back what was answered, and does not learn what else was made.",
		File:   "shared/facade/undo.go",
		Before: "if p.Given == nil {\n", After: "if p.Given == nil {\n\t\treturn nil\n\t}\n\tif p.Given == nil {\n",
		Tests: in("./shared/facade"), Invariant: "money", Business: ofOrders,
	},
}
