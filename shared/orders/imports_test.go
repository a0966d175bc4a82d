package orders

import (
	"bufio"
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/fabrikam/drone-delivery/"
	own    = module + "shared/orders"
)

// list runs go list at the root of the project, and returns its lines.
func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

func isOwn(pkg string) bool { return pkg == own || strings.HasPrefix(pkg, own+"/") }

// Ensure nothing but the business itself, its overlays and its tests knows of
// orders: no binary that is built without the overlay holds any of it.
func TestNobodyElseImportsOrders(t *testing.T) {
	var importers []string
	for _, line := range list(t, "-f", `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...") {
		pkg, imports, _ := strings.Cut(line, " ")
		if slices.ContainsFunc(strings.Fields(imports), isOwn) {
			importers = append(importers, pkg)
		}
	}
	if !slices.Contains(importers, own+"/overlay/chosen") || !slices.Contains(importers, own+"/overlay/trial") {
		t.Errorf("the overlays don't name orders: %v", importers)
	}
	for _, pkg := range importers {
		if !isOwn(pkg) {
			t.Errorf("%s imports orders", pkg)
		}
	}
}

// Ensure a build with the overlay is one of orders: the handler holds neither the
// other business nor any trial.
func TestOverlayReplacesTheBusiness(t *testing.T) {
	deps := list(t, "-deps", "-overlay=shared/orders/overlay/overlay.json", "./handlers")
	if !slices.Contains(deps, own) {
		t.Error("the handler does not hold orders")
	}
	for _, pkg := range deps {
		if strings.HasPrefix(pkg, module+"shared/delivery") || strings.Contains(pkg, "/trial") {
			t.Errorf("the handler holds %s", pkg)
		}
	}
	if tool := list(t, "-deps", "-overlay=shared/orders/overlay/overlay.json", "./infra/local"); !slices.Contains(tool, own+"/trial") {
		t.Error("the tool does not hold the trial of orders")
	}
}
