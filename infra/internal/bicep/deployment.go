package bicep

import "strings"

// Target is where a deployment goes.
type Target struct {
	SubscriptionID, TenantID string
	// Location is the deployment's, and that of ResourceGroup.
	Location string
	// ResourceGroup is for a file whose scope is a resource group.
	ResourceGroup string
}

// Resource is one resource of a deployment.
type Resource struct {
	Type       string // in full, such as Microsoft.EventHub/namespaces/eventhubs
	APIVersion string
	Name       string // in full: the parents' and its own, with slashes
	ID         string
	// Scope is the id of the resource group or subscription that it is in, or of
	// the resource that it extends, as a role assignment does.
	Scope  string
	Parent string // the parent's id, or ""
	// DependsOn are the ids of the resources that dependsOn names; modules aren't
	// among them.
	DependsOn []string
	Module    string // the names of the modules around it, with slashes; "" in the file itself
	Position
	// Body is what is sent: location, tags, properties and so on. Its values
	// are nil, bool, int64, float64, string, Symbol, []any and map[string]any.
	Body map[string]any
}

// Deployment is what a deployment would contain.
type Deployment struct {
	// Resources are in the order of the files, except that a module comes
	// before what needs its outputs.
	Resources []Resource
	// Existing are the resources that the files take as given.
	Existing []Resource
	Outputs  map[string]any
	// Passed are the values of all params and outputs, which Azure keeps with the
	// deployment for everybody who may read it, the secure ones excepted.
	Passed []Passed

	modules map[string]Position // of the modules' own deployments, by id
}

// Passed is the value of a param or an output.
type Passed struct {
	Kind   Kind // Param or Output
	Name   string
	Module string // as in Resource
	Position
	Secure bool // it has @secure()
	Value  any
}

// Deploy evaluates the program. The parameters' values are those that Resource
// lists for bodies; ints may be of type int. The error has the position of what
// is wrong.
func (p *Program) Deploy(to Target, params map[string]any) (_ *Deployment, err error) {
	defer recovered(&err)
	scope := &scopeValue{
		kind: p.main.targetScope, subscription: to.SubscriptionID, tenant: to.TenantID,
		group: to.ResourceGroup, location: to.Location,
	}
	d := &deploying{program: p, imports: map[string]*frame{}, out: &Deployment{modules: map[string]Position{}}}
	f := d.newFrame(p.main, "", scope)
	given := map[string]any{}
	for name, v := range params {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		given[name] = v
	}
	f.take(Position{p.main.path, 1, 1}, given)
	d.out.Outputs = f.deploy()
	return d.out, nil
}

func (d *Deployment) add(r Resource, existing bool) {
	if existing {
		d.Existing = append(d.Existing, r)
		return
	}
	for _, other := range d.Resources {
		if strings.EqualFold(other.ID, r.ID) {
			fail(r.Position, "%s is deployed at %v too", r.ID, other.Position)
		}
	}
	d.Resources = append(d.Resources, r)
}

// pass notes the value of a param or an output of a frame.
func (f *frame) pass(d *declaration, v any) {
	f.out.Passed = append(f.out.Passed, Passed{d.kind, d.name, f.path, d.at, d.decorator("secure") != nil, plainValue(d.at, v)})
}

// Find returns the resource with an id, nil if there is none.
func (d *Deployment) Find(id string) *Resource {
	for i := range d.Resources {
		if strings.EqualFold(d.Resources[i].ID, id) {
			return &d.Resources[i]
		}
	}
	return nil
}

// Of returns the resources of a type.
func (d *Deployment) Of(kind string) []Resource {
	var out []Resource
	for _, r := range d.Resources {
		if strings.EqualFold(r.Type, kind) {
			out = append(out, r)
		}
	}
	return out
}

// At returns what the body has at a path such as properties.sku.name, nil if
// there is nothing.
func (r Resource) At(path string) any {
	var v any = r.Body
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// Text returns a string or Symbol that the body has at a path, else "".
func (r Resource) Text(path string) string { return Text(r.At(path)) }

// Text returns a string or a Symbol, "" for another value.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Symbol:
		return string(v)
	}
	return ""
}
