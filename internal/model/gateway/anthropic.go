package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"divisi/internal/text"
)

// loginBeta is what a call with a login has beside its other betas.
const loginBeta = "oauth-2025-04-20"

// anthropic is the Messages API of Anthropic.
var anthropic = form{
	base: "https://api.anthropic.com", above: "/v1",
	call: func(path string, body []byte) *call {
		at := "/v1" + strings.TrimPrefix(path, "/v1") // libraries differ in which part of the path is the address
		switch {
		case at == "/v1/messages":
			r, ok := fieldsOf(body)
			c := &call{path: at, model: get[string](r, "model", &ok), most: get[int](r, "maxtokens", &ok)}
			c.weigh(r, &ofAnthropic)
			return c.where(ok)
		case at == "/v1/messages/count_tokens":
			return &call{path: at, free: true}
		case at == "/v1/models", strings.HasPrefix(at, "/v1/models/"):
			return &call{path: at, free: true, reads: true}
		}
		return nil
	},
	token: func(h http.Header) string {
		if key := h.Get("X-Api-Key"); key != "" {
			return key
		}
		return bearer(h)
	},
	sign: func(h http.Header, key string) {
		h.Del("Authorization")
		h.Set("X-Api-Key", key)
	},
	read: readAnthropic,
	refusal: func(kind, why string) []byte {
		return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s}}`, text.Quote(kind), text.Quote(why))
	},
}

// readAnthropic reads the events of a stream, or a whole message. Its input has no tokens of the cache in it, its output the
// thoughts.
func readAnthropic(event []byte, u *Use) (last bool) {
	type usage struct {
		Input   float64 `json:"input_tokens"`
		Written float64 `json:"cache_creation_input_tokens"`
		Read    float64 `json:"cache_read_input_tokens"`
		// Output is absent where it is not said.
		Output *float64 `json:"output_tokens"`
		Kept   struct {
			Hour float64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
		Tier  string `json:"service_tier"`
		Speed string `json:"speed"`
	}
	var e struct {
		Type    string `json:"type"`
		Message struct {
			Usage usage `json:"usage"`
		} `json:"message"`
		Usage usage `json:"usage"`
		Delta struct {
			Reason string `json:"stop_reason"`
		} `json:"delta"`
	}
	if json.Unmarshal(event, &e) != nil {
		return false
	}
	said := e.Usage
	if e.Type == "message_start" {
		said = e.Message.Usage
	}
	largest(&u.Usage.Prompt, said.Input+said.Written+said.Read)
	largest(&u.Usage.Cached, said.Read)
	largest(&u.Usage.Written, said.Written)
	largest(&u.Usage.WrittenHour, said.Kept.Hour)
	if said.Output != nil {
		largest(&u.Usage.Output, *said.Output)
	}
	u.serve(said.Tier)
	u.serve(said.Speed)
	ends := e.Type == "message" || e.Type == "message_delta" && e.Delta.Reason != ""
	return ends && said.Output != nil && *said.Output >= 0
}
