package tool

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// started when it is imported, by a dependency of the genai library; it never ends
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

type args = map[string]any

// keeper keeps artifacts.
type keeper struct {
	mu   sync.Mutex
	data map[string][]byte
	fail error
}

func (m *keeper) Put(_ context.Context, name string, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return "", m.fail
	}
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.data[name] = data
	return name, nil
}

func (m *keeper) Get(_ context.Context, handle string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.data[handle]
	if !ok {
		return nil, errors.New("there is no such artifact")
	}
	return data, nil
}
