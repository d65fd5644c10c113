package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/lazyregexp"
	"divisi/internal/model"
	"divisi/internal/text"
)

// geminiVersion is what stands before the models in a path of the API.
var geminiVersion = lazyregexp.New(`^/v\d\w*$`)

// gemini is the Gemini API.
var gemini = form{
	base: "https://generativelanguage.googleapis.com",
	call: func(path string, body []byte) *call {
		version, named, found := strings.Cut(path, "/models")
		name, method, _ := strings.Cut(strings.TrimPrefix(named, "/"), ":")
		switch {
		case !found || !geminiVersion.MatchString(version) || strings.Contains(name, "/"):
		case method == "generateContent" || method == "streamGenerateContent":
			r, ok := fieldsOf(body)
			var config request
			if raw := r["generationconfig"]; ok && raw != nil {
				config, ok = fieldsOf(raw)
			}
			most, answers := get[int](config, "maxoutputtokens", &ok), get[int](config, "candidatecount", &ok)
			c := &call{model: name, most: most, answers: answers}
			c.weigh(r, &ofGemini)
			return c.where(ok)
		case method == "":
			return &call{free: true, reads: true}
		case method == "countTokens":
			return &call{free: true}
		}
		return nil
	},
	token: func(h http.Header) string { return h.Get("X-Goog-Api-Key") },
	sign:  func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) },
	read: func(event []byte, u *Use) (last bool) {
		var e genai.GenerateContentResponse
		var served struct {
			Usage struct {
				Tier string `json:"serviceTier"`
			} `json:"usageMetadata"`
		}
		if json.Unmarshal(event, &e) != nil || e.UsageMetadata == nil {
			return false
		}
		if json.Unmarshal(event, &served) == nil {
			u.serve(served.Usage.Tier)
		}
		said := model.UsageOf(e.UsageMetadata)
		largest(&u.Usage.Prompt, float64(said.Prompt))
		largest(&u.Usage.Cached, float64(said.Cached))
		largest(&u.Usage.Output, float64(said.Output))
		largest(&u.Usage.Thoughts, float64(said.Thoughts))
		largest(&u.Usage.ToolUse, float64(said.ToolUse))
		return len(e.Candidates) > 0 && e.Candidates[0] != nil && e.Candidates[0].FinishReason != ""
	},
	refusal: func(kind, why string) []byte {
		return fmt.Appendf(nil, `{"error":{"code":403,"status":%s,"message":%s}}`, text.Quote(kind), text.Quote(why))
	},
}
