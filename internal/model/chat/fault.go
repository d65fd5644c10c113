package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/model"
	"divisi/internal/spec"
)

// The words of refusals. There are no codes that all services share.
var (
	saysTooLong = words(
		`context[ _](length|window|size)[ _]exceeded`, `exceed_context_size`, `max(imum)? (context|prompt|model) length`,
		`maximum allowed input length`, `exceeds? ((the|this|model|model's|maximum|available|configured) )*context`,
		`(greater|longer) than the ((model's|maximum|model) )*(context|model) length`, `context (window|size|length) exceeds`,
		`context length (is|of) only`, `(prompt|input) (is )?too long`, `token count.*exceeds the`, `exceeded model token limit`,
		`more than max tokens allowed`, `reduce the length of`, `too large for model with`, `but the configured context size`,
	)
	saysBlocked  = words(`content[ _](filter|policy)`, `content management policy`, `was flagged`, `requires moderation`)
	saysNoModel  = words(`model.*(not found|not exist|not a valid model)`, `(invalid|unknown|no such) model`)
	saysNoCredit = words(`insufficient[ _](balance|credit|quota|funds)`, `credit balance is too low`, `billing_`)
	saysNoRoom   = words(`request too large`) // more than the minute's whole allowance
	pageTitle    = lazyregexp.New(`(?is)<title[^>]*>\s*(.*?)\s*</title>`)
)

func words(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(patterns, "|"))
}

// fault is an error as services write it.
type fault struct {
	message, kind, code string
	// header holds the headers that a gateway passes on.
	header http.Header
}

// parseFault reads an error body: OpenAI's object, a bare text as Ollama's, fields without a wrapper, a list of one, a page.
func parseFault(body []byte) fault {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return fault{message: plain(body)}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	m := object(v)
	if inner := object(m["error"]); inner != nil {
		m = inner
	}
	f := fault{
		message: cmp.Or(word(m["message"]), word(m["error"]), word(m["detail"]), plain(body)),
		kind:    word(m["type"]), code: word(m["code"]), header: http.Header{},
	}
	meta := object(m["metadata"])
	if raw := word(meta["raw"]); raw != "" {
		f.message += ": " + raw
	}
	for name, value := range object(meta["headers"]) {
		f.header.Set(name, word(value))
	}
	return f
}

// object is nil for anything but an object.
func object(v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return m
}

// word is a value as text; empty for none.
func word(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := spec.JSON(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// plain returns the message of a body that is not JSON; of a page its title.
func plain(body []byte) string {
	text := strings.TrimSpace(string(body))
	if !strings.HasPrefix(text, "<") {
		return text
	}
	if m := pageTitle.FindStringSubmatch(text); m != nil {
		return "a web page came: " + m[1]
	}
	return "a web page came"
}

// status is the HTTP status that an error inside a stream stands for.
func (f fault) status() int {
	if n, err := strconv.Atoi(f.code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	all := strings.ToLower(f.kind + " " + f.code)
	for _, s := range []struct {
		status int
		words  []string
	}{
		{http.StatusTooManyRequests, []string{"rate_limit", "insufficient_quota", "too_many_requests"}},
		{http.StatusServiceUnavailable, []string{"overloaded", "unavailable"}},
		{http.StatusUnauthorized, []string{"authentication", "invalid_api_key", "permission"}},
		{http.StatusNotFound, []string{"not_found", "notfound"}},
		{http.StatusBadRequest, []string{"invalid_request", "badrequest", "bad_request", "context", "content"}},
	} {
		if slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(all, w) }) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// refuse is the error of a refused request. It reports what to do where only this client knows.
func (c *Client) refuse(status int, h http.Header, body []byte) *model.Error {
	f := parseFault(body)
	e := f.refusal(status, h)
	switch {
	case e.Class == model.Auth && c.key == "":
		e.Message = fmt.Sprintf("%s wants a key: name the variable that has it in key_env of the model: %s", c.base, e.Message)
	case e.Class == model.Auth:
		e.Message = fmt.Sprintf("%s refuses the key%s: %s", c.base, strings.TrimRight(" "+c.keyWhere(), " "), e.Message)
	case e.Class != model.Invalid:
	case (status == http.StatusNotFound || status == http.StatusBadRequest) && f.says(saysNoModel):
		e.Message = fmt.Sprintf("%s does not have this model: check its name in models of .divisi/divisi.yaml, "+
			"or load it there first: %s", c.base, e.Message)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		e.Message = fmt.Sprintf("there is no /chat/completions at %s: base_url mostly ends in /v1: %s", c.base, e.Message)
	}
	return e
}

// refusal is the class of a status, put right by what the service says.
func (f fault) refusal(status int, h http.Header) *model.Error {
	e := model.FromStatus(status, f.headers(h, time.Now()), []byte(f.message))
	switch {
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests && f.says(saysNoCredit):
		// No wait helps, so it is not waited for.
		return &model.Error{
			Class: model.RateLimited, Status: status, Message: e.Message, Quota: cmp.Or(f.code, f.kind, "credit"),
		}
	case status == http.StatusTooManyRequests && f.says(saysNoRoom):
		return &model.Error{Class: model.TooLong, Status: status, Message: e.Message}
	case status == http.StatusTooManyRequests, status == http.StatusUnauthorized:
	case (status == http.StatusBadRequest || status == http.StatusForbidden) && f.says(saysBlocked):
		e.Class = model.Blocked
	case f.says(saysTooLong):
		e.Class = model.TooLong
	}
	return e
}

func (f fault) says(re *regexp.Regexp) bool {
	return re.MatchString(f.code) || re.MatchString(f.kind) || re.MatchString(f.message)
}

// headers are those of the answer, with Retry-After made of whatever else reports how long to wait.
func (f fault) headers(h http.Header, now time.Time) http.Header {
	all := http.Header{}
	maps.Copy(all, f.header)
	maps.Copy(all, h)
	if wait := f.wait(all, now); wait > 0 {
		all.Set("Retry-After", strconv.FormatFloat(wait.Seconds(), 'f', 3, 64))
	}
	return all
}

// wait is how long to wait where Retry-After does not say; zero when nothing does.
func (f fault) wait(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if h.Get("Retry-After") != "" {
		return 0
	}
	return cmp.Or(model.DelayIn(f.message), resetAfter(h, now))
}

// resetAfter reads x-ratelimit-reset, also that of requests and tokens: the longest of those that are used up, else the
// shortest.
func resetAfter(h http.Header, now time.Time) time.Duration {
	var empty, least time.Duration
	for _, kind := range []string{"", "-Requests", "-Tokens"} {
		wait := resetTime(h.Get("X-Ratelimit-Reset"+kind), now)
		if wait <= 0 {
			continue
		}
		if h.Get("X-Ratelimit-Remaining"+kind) == "0" {
			empty = max(empty, wait)
		}
		if least == 0 || wait < least {
			least = wait
		}
	}
	return cmp.Or(empty, least)
}

// resetTime reads "6m0s", seconds, or a time since 1970 in seconds or milliseconds.
func resetTime(value string, now time.Time) time.Duration {
	if wait, err := time.ParseDuration(value); err == nil {
		return wait
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || n <= 0 || n > 1e14:
		return 0
	case n > 1e11:
		return time.UnixMilli(int64(n)).Sub(now)
	case n > 1e8:
		return time.Unix(int64(n), 0).Sub(now)
	}
	return time.Duration(n * float64(time.Second))
}
