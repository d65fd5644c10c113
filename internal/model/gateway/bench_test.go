package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"divisi/internal/model"
	"divisi/internal/model/gateway"
	"divisi/internal/spec"
)

// BenchmarkGateway compares 64 streams through the gateway with as many to the service itself, in turn. The service is silent for
// 400 ms and then sends 20 events, one every 20 ms; the streams begin within 400 ms, as agents do, and not all at once. It reports the medians of both as ratios, until the first byte and until the last
// one, and what of the heap the gateway keeps once its streams are over.
func BenchmarkGateway(b *testing.B) {
	const streams = 64
	a := asks[spec.GatewayAnthropic]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-time.After(400 * time.Millisecond)
		for i := range 20 {
			event := a.stream[1]
			switch i {
			case 0:
				event = a.stream[0]
			case 19:
				event = a.stream[2]
			}
			fmt.Fprintf(w, "event: x\ndata: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
			<-time.After(20 * time.Millisecond)
		}
	}))
	defer service.Close()
	g, err := gateway.New(gateway.Service{Form: spec.GatewayAnthropic, Base: service.URL, Key: key}, model.NewBudget(spec.Tokens(1<<50), 0, nil), model.NewRateLimit(nil))
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	door := httptest.NewServer(g.For(gateway.Attempt{
		Token: token, Wait: func(spec.Wait) {}, Refused: func(e *model.Error) { b.Error(e) },
		Begin: func(gateway.Use) (func(gateway.Use), error) { return func(gateway.Use) {}, nil },
	}))
	defer door.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer client.CloseIdleConnections()
	body := a.body[:len(a.body)-2] + strings.Repeat(`"word",`, 8<<10) + `""]}` // as of an agent that has worked for a while

	round := func(at string) (first, last []time.Duration) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				<-time.After(time.Duration(i) * 400 * time.Millisecond / streams) // agents begin at times of their own
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, at+a.path, strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set(a.header, token)
				began := time.Now()
				resp, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				defer resp.Body.Close()
				_, err = resp.Body.Read(make([]byte, 1))
				one := time.Since(began)
				n, rest := io.Copy(io.Discard, resp.Body)
				if err != nil || rest != nil || resp.StatusCode != http.StatusOK || n < 1000 {
					b.Errorf("status %d, %d bytes, %v, %v", resp.StatusCode, n, err, rest)
				}
				mu.Lock()
				defer mu.Unlock()
				first, last = append(first, one), append(last, time.Since(began))
			})
		}
		all.Wait()
		return first, last
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // what pools keep for one more round
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round(service.URL) // connections are made
	round(door.URL)
	var directFirst, directLast, first, last []time.Duration
	before := heap()
	for b.Loop() {
		f, l := round(service.URL)
		directFirst, directLast = append(directFirst, f...), append(directLast, l...)
		f, l = round(door.URL)
		first, last = append(first, f...), append(last, l...)
	}
	kept := int64(heap()) - int64(before) - int64(len(last))*4*8
	b.ReportMetric(ratio(first, directFirst), "first-byte-ratio")
	b.ReportMetric(ratio(last, directLast), "last-byte-ratio")
	b.ReportMetric(float64(kept)/float64(len(last)), "B-kept/stream")
	b.ReportMetric(0, "ns/op")
}

// ratio is that of two medians.
func ratio(here, there []time.Duration) float64 {
	slices.Sort(here)
	slices.Sort(there)
	return float64(here[len(here)/2]) / float64(there[len(there)/2])
}
