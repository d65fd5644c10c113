package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"divisi/internal/text"
)

// openAIBounds are the fields that bound an answer, by path. A field that a path does not know bounds nothing.
var openAIBounds = map[string][]string{
	"/responses": {"maxoutputtokens"}, "/chat/completions": {"maxcompletiontokens", "maxtokens"},
}

// openAI is the API of OpenAI: responses, and chat completions.
var openAI = form{
	base:  "https://api.openai.com/v1",
	under: "/v1",
	call: func(path string, body []byte) *call {
		bounds := openAIBounds[path]
		switch {
		case bounds != nil:
			r, ok := fieldsOf(body)
			c := &call{model: get[string](r, "model", &ok), answers: get[int](r, "n", &ok)}
			for _, bound := range bounds {
				if most := get[int](r, bound, &ok); most < 0 || most > c.most {
					c.most = most
				}
			}
			c.weigh(r, &ofOpenAI)
			return c.where(ok)
		case path == "/models", strings.HasPrefix(path, "/models/"):
			return &call{free: true, reads: true}
		}
		return nil
	},
	token: bearer,
	sign:  func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
	read:  readOpenAI,
	refusal: func(kind, why string) []byte {
		return fmt.Appendf(nil, `{"error":{"type":%[1]s,"code":%[1]s,"message":%[2]s}}`, text.Quote(kind), text.Quote(why))
	},
}

// readOpenAI reads the events of both APIs, or a whole answer. Cached tokens are in its input, thoughts in its output.
func readOpenAI(event []byte, u *Use) (last bool) {
	type details struct {
		Cached   float64 `json:"cached_tokens"`
		Written  float64 `json:"cache_write_tokens"`
		Thoughts float64 `json:"reasoning_tokens"`
	}
	type usage struct {
		Input         float64 `json:"input_tokens"`
		InputDetails  details `json:"input_tokens_details"`
		Output        float64 `json:"output_tokens"`
		OutputDetails details `json:"output_tokens_details"`

		Prompt            float64 `json:"prompt_tokens"`
		PromptDetails     details `json:"prompt_tokens_details"`
		Completion        float64 `json:"completion_tokens"`
		CompletionDetails details `json:"completion_tokens_details"`
	}
	if string(event) == "[DONE]" { // of chat completions, whose last event has the use
		return u.told
	}
	var e struct {
		Type     string `json:"type"`
		Object   string `json:"object"`
		Response struct {
			Usage *usage `json:"usage"`
			Tier  string `json:"service_tier"`
		} `json:"response"`
		Usage *usage `json:"usage"`
		Tier  string `json:"service_tier"`
	}
	if json.Unmarshal(event, &e) != nil {
		return false
	}
	said := cmp.Or(e.Response.Usage, e.Usage)
	if u.told = said != nil && max(said.Input, said.Prompt) > 0 && min(said.Output, said.Completion) >= 0; said == nil {
		return false
	}
	thoughts := max(said.OutputDetails.Thoughts, said.CompletionDetails.Thoughts)
	largest(&u.Usage.Prompt, max(said.Input, said.Prompt))
	largest(&u.Usage.Cached, max(said.InputDetails.Cached, said.PromptDetails.Cached))
	largest(&u.Usage.Written, max(said.InputDetails.Written, said.PromptDetails.Written))
	largest(&u.Usage.Thoughts, thoughts)
	largest(&u.Usage.Output, max(said.Output, said.Completion)-thoughts)
	u.serve(cmp.Or(e.Response.Tier, e.Tier))
	switch e.Type {
	case "":
		return u.told && (e.Object == "response" || e.Object == "chat.completion")
	case "response.completed", "response.incomplete", "response.failed":
		return u.told
	}
	return false
}
