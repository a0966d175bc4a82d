package record

import (
	"context"
	"fmt"
	"regexp"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Container returns a container of records of effects.
func Container(name string, indexed ...string) business.Container {
	return business.Container{Name: name, PartitionKey: "/id", Expires: true, Effects: true, Indexed: indexed}
}

// KeeperOf returns a keeper of the effects in a container, each of which may be
// changed or undone for as long as its transaction takes.
func KeeperOf[T any](env business.Env, container string) Keeper[T] {
	return Keeper[T]{
		Store: Over[Record[T]](env.Documents(container)), Now: env.Now, Retention: env.Keep, Needed: For[T](env.CompleteBy),
	}
}

// documents is a Store over the documents of a container whose partition key is
// /id.
type documents[T any] struct{ business.Documents }

// Over returns a store of Ts, which are encoded with their id in the field "id",
// over the documents of a container whose partition key is /id.
func Over[T any](docs business.Documents) Store[T] { return documents[T]{docs} }

func (s documents[T]) Read(ctx context.Context, id string) (T, string, error) {
	return business.Read[T](ctx, s.Documents, id, id)
}

func (s documents[T]) Create(ctx context.Context, id string, v T) (string, error) {
	return business.Create(ctx, s.Documents, id, id, v)
}

func (s documents[T]) Replace(ctx context.Context, id string, v T, etag string) (string, error) {
	return business.Replace(ctx, s.Documents, id, id, v, etag)
}

// fieldName is what may stand in a query as the name of a field, which can't be
// a parameter.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s documents[T]) Page(ctx context.Context, field, value, continuation string) ([]T, string, error) {
	if !fieldName.MatchString(field) {
		return nil, "", failure.New(failure.Invalid, "query records", "", fmt.Errorf("%q is not a field name", field))
	}
	return business.Page[T](ctx, s.Documents, business.Query{
		Text:         `SELECT * FROM c WHERE c["` + field + `"] = @value`,
		Parameters:   map[string]any{"@value": value},
		Continuation: continuation,
	})
}
