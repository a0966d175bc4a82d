package system_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// BenchmarkDeliveries takes b.N requests through the whole system: accepted,
// relayed, scheduled over all five services, completed. The client, the
// emulators and the host share this process; the handler is its child. It
// reports the rate of completion beside that of acceptance.
//
//	go test -run '^$' -bench Deliveries -benchtime 2000x ./infra/local/internal/system
func BenchmarkDeliveries(b *testing.B) {
	r := start(b, map[string]string{"FLEET_DRONES": "500", "FLIGHT_TIME_SCALE": "0.00001"})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	r.client = client

	run := time.Now().UnixNano()
	ids := make([]string, b.N)
	b.ResetTimer()
	begun := time.Now()
	parallel(64, b.N, func(i int) {
		a := r.want(http.StatusAccepted, http.MethodPost, "/api/deliveryrequests", request(fmt.Sprintf("p-%d-%d", run, i), begun))
		ids[i] = decode[struct{ TransactionID string }](b, a).TransactionID
	})
	accepted := time.Since(begun)
	for _, id := range ids {
		r.await(id, "Completed", func(p progress) bool { return p.State == "Completed" })
	}
	b.ReportMetric(float64(b.N)/accepted.Seconds(), "accepted/s")
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "completed/s")
}

// parallel calls do for 0 to n-1 on some goroutines.
func parallel(goroutines, n int, do func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range goroutines {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
