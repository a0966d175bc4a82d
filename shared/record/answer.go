package record

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Handler answers a request, or returns an error, which is answered as the
// problem that it is.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Endpoints are the whole contract of an effect that is nothing more than its
// record: GET, PUT and DELETE of a path that ends with {id}. GET and PUT answer
// with the content, a repeat included: other steps may use it. B and check are as in AnswerPut, build as in Keeper.Put.
func Endpoints[B, A, T any](path string, k *Keeper[T], check func(B) (A, error), build func(ask A, live *T) T) []business.Endpoint {
	put := func(ctx context.Context, id string, by By, ask A) (Record[T], Change, error) {
		return Put(ctx, k, id, by, ask, func(live *T) T { return build(ask, live) })
	}
	content := func(r Record[T]) T { return r.Content }
	return []business.Endpoint{
		{Method: http.MethodGet, Path: path, Handle: AnswerGet(k.GetLive, content)},
		{Method: http.MethodPut, Path: path, Handle: AnswerPut(http.StatusOK, check, put, content)},
		{Method: http.MethodDelete, Path: path, Handle: AnswerDelete(k.Delete)},
	}
}

// AnswerGet answers a GET of the id in the path: 200 with what show makes of
// what read returns.
func AnswerGet[R, V any](read func(ctx context.Context, id string) (R, error), show func(R) V) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := PathID(r)
		if err != nil {
			return err
		}
		found, err := read(r.Context(), id)
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, show(found))
	}
}

// AnswerPut answers a PUT of an effect: 201 if put created it, 200 if it changed
// it, with what show makes of the record, and a repeat with the status repeat: 200
// with the same where the next step needs it, or 204. B is the body as it arrives, in
// which what is missing is nil; check makes of it what is asked for, and its error
// tells every fault.
func AnswerPut[B, A, T, V any](
	repeat int,
	check func(B) (A, error),
	put func(ctx context.Context, id string, by By, ask A) (Record[T], Change, error),
	show func(Record[T]) V,
) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, by, err := ReadCall(r)
		if err != nil {
			return err
		}
		ask, err := readChecked(w, r, check)
		if err != nil {
			return err
		}
		rec, change, err := put(r.Context(), id, by, ask)
		if err != nil {
			return err
		}
		tell(w, change != "")
		status := map[Change]int{Created: http.StatusCreated, Changed: http.StatusOK, "": repeat}[change]
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return nil
		}
		return WriteJSON(w, status, show(rec))
	}
}

// AnswerDelete answers a DELETE of an effect: 204.
func AnswerDelete(undo func(ctx context.Context, id string, by By) error) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, by, err := ReadCall(r)
		if err != nil {
			return err
		}
		var written atomic.Bool
		if err := undo(context.WithValue(r.Context(), writtenKey{}, &written), id, by); err != nil {
			return err
		}
		tell(w, written.Load())
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// writtenKey is of an *atomic.Bool that tells whether Update has written something on
// behalf of a call.
type writtenKey struct{}

func noteWritten(ctx context.Context) {
	if written, ok := ctx.Value(writtenKey{}).(*atomic.Bool); ok {
		written.Store(true)
	}
}

func tell(w http.ResponseWriter, changed bool) {
	if changed {
		w.Header().Set(HeaderChanged, "true")
	}
}

// AnswerPost answers a POST that adds something to the thing with the id in the
// path, on nobody's behalf: 204. B and check are as in AnswerPut.
func AnswerPost[B, A any](check func(B) (A, error), add func(ctx context.Context, id string, added A) error) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := PathID(r)
		if err != nil {
			return err
		}
		added, err := readChecked(w, r, check)
		if err != nil {
			return err
		}
		if err := add(r.Context(), id, added); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// AnswerList answers a GET of what an account has, which a query parameter of that
// name tells: 200 with a Page.
func AnswerList[R, V any](parameter string, page func(ctx context.Context, account, continuation string) ([]R, string, error), show func(R) V) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		query := r.URL.Query()
		account := query.Get(parameter)
		if !problem.ValidID(account) {
			return problem.New(problem.Invalid, "query parameter %s %s", parameter, problem.IDRule)
		}
		found, next, err := page(r.Context(), account, query.Get("continuation"))
		if err != nil {
			return err
		}
		return WritePage(w, found, next, show)
	}
}

// Page is the answer of a list: some items in no order, and what to ask for the
// next ones with (query parameter "continuation"). A page may be empty and
// still have a continuation.
type Page[V any] struct {
	Items        []V    `json:"items"`
	Continuation string `json:"continuation,omitempty"`
}

// WritePage answers 200 with a Page of what show makes of each one found.
func WritePage[R, V any](w http.ResponseWriter, found []R, next string, show func(R) V) error {
	out := Page[V]{Items: make([]V, 0, len(found)), Continuation: next}
	for _, one := range found {
		out.Items = append(out.Items, show(one))
	}
	return WriteJSON(w, http.StatusOK, out)
}

func readChecked[B, A any](w http.ResponseWriter, r *http.Request, check func(B) (A, error)) (A, error) {
	var body B
	if err := ReadBody(w, r, &body); err != nil {
		var none A
		return none, err
	}
	return check(body)
}
