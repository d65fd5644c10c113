package runs

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATrialIsNeverSilent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	x := &trying{out: &out, now: func() time.Time { return at }}
	after := func(seconds int) { at = at.Add(time.Duration(seconds) * time.Second) }
	x.doing("prepares a work tree")
	after(1)
	x.said(json.RawMessage(`{"kind":"progress","data":{"doing":"setup: npm ci"}}`))
	after(10)
	x.tick()
	x.said(json.RawMessage(`{"kind":"receipt","data":{"gate":"test"}}`))
	x.said(json.RawMessage(`{`))
	after(20)
	x.said(json.RawMessage(`{"kind":"progress","data":{"doing":"setup: npm ci: nothing printed for 30s"}}`))
	after(10)
	x.tick()
	x.said(json.RawMessage(`{"kind":"progress","data":{"doing":"gate a\u001b[31m"}}`))
	require.Equal(t, "12:00:00 prepares a work tree\n12:00:01 setup: npm ci\n12:00:11 setup: npm ci, for 10s\n"+
		"12:00:31 setup: npm ci: nothing printed for 30s\n12:00:41 setup: npm ci, for 40s\n12:00:41 gate a\n", out.String())
}
