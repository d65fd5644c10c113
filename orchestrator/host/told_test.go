package host

import (
	"divisi/internal/spec"
	"divisi/orchestrator/call"
)

// told is a call as it is sent.
func told[Q, A any](k call.Kind[Q, A], of call.Head, q Q) []byte {
	return []byte(spec.JSONText(call.In{Name: k.Name, Head: of, Body: []byte(spec.JSONText(q))}))
}

// became is an answer as it is sent, with a result.
func became(result any) []byte {
	return []byte(spec.JSONText(call.Answer{Result: []byte(spec.JSONText(result))}))
}
