package observe

import (
	"log/slog"
	"sync/atomic"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// outage counts what one exporter drops, and tells of it once when it begins and
// once when it is over: a collector that is away for hours is not to fill the
// log.
type outage struct {
	signal  string // traces or metrics
	logger  *slog.Logger
	total   atomic.Int64 // of all items that were dropped
	before  atomic.Int64 // total when the latest outage began
	failing atomic.Bool
}

// exported takes note of the end of an export of n items.
func (o *outage) exported(n int, err error) {
	if err != nil {
		o.drop(n, err.Error())
		return
	}
	if o.failing.CompareAndSwap(true, false) {
		o.logger.Info("telemetry is exported again", "signal", o.signal, "dropped", o.total.Load()-o.before.Load())
	}
}

// drop counts items that go nowhere.
func (o *outage) drop(n int, why string) {
	total := o.total.Add(int64(n))
	if o.failing.CompareAndSwap(false, true) {
		o.before.Store(total - int64(n))
		o.logger.Warn("telemetry is dropped", "signal", o.signal, telemetry.KeyError, why)
	}
}
