package cosmos

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// EmulatorKey is the published account key of Microsoft's emulator, which local
// settings of every project use (Microsoft Learn, "Azure Cosmos DB emulator").
const EmulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

const (
	defaultRanges      = 2
	maxRanges          = 256
	defaultAccountName = "local"
	sweepInterval      = 10 * time.Second
)

// Config says how a Server behaves. The zero value is valid.
type Config struct {
	// Key is the account key in base64. Default: EmulatorKey.
	Key string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger takes what operators should know. Default: discards.
	Logger *slog.Logger
	// RangesPerContainer is into how many ranges a new container is divided,
	// 1 to 256. Default: 2, so that clients meet what large containers have.
	RangesPerContainer int
	// AccountName is the id of the account document. Default: "local".
	AccountName string
	// Faults break operations on items on purpose; see faults.go. nil means
	// never.
	Faults *fault.Injector
	// Crashes kills handlers at their writes. nil kills none.
	Crashes *effect.Watch
	// Spared are the databases that Faults leave alone: the runtime's own, for
	// what it keeps there is in a storage account in Azure.
	Spared []string
}

// A Server is one Cosmos DB account, served over HTTP by ServeHTTP. It is safe
// for concurrent use.
type Server struct {
	key         []byte
	keyText     string
	now         func() time.Time
	logger      *slog.Logger
	ranges      int
	accountName string
	faults      *fault.Injector
	spared      []string
	mapReaders  readers
	crashes     *effect.Watch
	store       store.Store

	mu        sync.RWMutex // guards the catalog below
	next      uint32       // number of the next database, container or offer
	databases map[string]*database
	offers    map[string]*offer      // by lower-case resource id
	catalog   atomic.Pointer[commit] // the latest change of the catalog

	failOnce sync.Once
	failed   chan struct{} // closed when the store failed

	stop    context.CancelFunc
	sweeper sync.WaitGroup
}

// New makes a Server with what st has kept, and starts its sweeper of expired
// items. The caller closes the Server before the store.
func New(cfg Config, st store.Store) (*Server, error) {
	s := &Server{
		keyText: cfg.Key, now: cfg.Now, logger: cfg.Logger, ranges: cfg.RangesPerContainer, accountName: cfg.AccountName,
		faults: cfg.Faults, spared: slices.Clone(cfg.Spared), crashes: cfg.Crashes, store: st, next: 1, databases: make(map[string]*database), offers: make(map[string]*offer),
		failed: make(chan struct{}),
	}
	if s.keyText == "" {
		s.keyText = EmulatorKey
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.ranges == 0 {
		s.ranges = defaultRanges
	}
	if s.accountName == "" {
		s.accountName = defaultAccountName
	}
	if s.ranges < 1 || s.ranges > maxRanges {
		return nil, fmt.Errorf("cosmos: RangesPerContainer is %d, must be 1 to %d", s.ranges, maxRanges)
	}
	var err error
	if s.key, err = base64.StdEncoding.DecodeString(s.keyText); err != nil {
		return nil, fmt.Errorf("cosmos: decode account key: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("cosmos: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.sweeper.Go(func() { s.sweepLoop(ctx) })
	return s, nil
}

// Close stops the sweeper and waits for it. Requests must have ended; the store
// stays open.
func (s *Server) Close() error {
	s.stop()
	s.sweeper.Wait()
	return nil
}

// ConnectionString is what clients need to reach the account at addr, a host and
// port.
func (s *Server) ConnectionString(addr string) string {
	return fmt.Sprintf("AccountEndpoint=http://%s/;AccountKey=%s;", addr, s.keyText)
}

// ServeHTTP answers one request of the REST protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := s.now()
	c := &call{Request: r, activity: activityOf(r.Header)}
	answer, err := s.handle(c)
	if errors.Is(err, errAnswerLost) {
		panic(http.ErrAbortHandler) // which cuts the connection
	}
	if err != nil {
		answer = s.refusal(c, err)
	}
	// The one place through which all answers go out.
	if err := answer.write(w, c, s.now().Sub(started)); err != nil {
		s.logger.Debug("cosmos: answer not delivered", "activity", c.activity, "error", err)
	}
}

// handle authorizes a call and passes it to its handler.
func (s *Server) handle(c *call) (*response, error) {
	var err error
	if c.target, err = parseTarget(escapedPath(c.URL)); err != nil {
		return nil, badRequest("The request path is invalid.")
	}
	s.resolve(&c.target)
	if err := s.authorize(c.Request, c.target); err != nil {
		return nil, err
	}
	select {
	case <-s.failed:
		return nil, errStoreFailed()
	default:
	}
	if err := checkHeaders(c.Header); err != nil {
		return nil, err
	}
	methods, ok := routes[c.target.pattern]
	if !ok {
		return nil, unknownResource(c.target)
	}
	handler, ok := methods[c.Method]
	if !ok {
		return nil, newError(http.StatusMethodNotAllowed, 0, "The requested verb is not supported.")
	}
	if err := c.readBody(); err != nil {
		return nil, err
	}
	answer, err := s.attempt(c, handler)
	if err := s.catalog.Load().wait(); err != nil {
		return nil, err
	}
	return answer, err
}

// refusal turns an error into an answer; what is no apiError is the server's own
// failure.
func (s *Server) refusal(c *call, err error) *response {
	var refused *apiError
	if !errors.As(err, &refused) {
		s.logger.Error("cosmos: request failed", "activity", c.activity, "method", c.Method, "path", c.URL.Path, "error", err)
		refused = newError(http.StatusInternalServerError, 0, "An unknown error occurred while processing this request.")
	}
	return refused.response(c.activity)
}
