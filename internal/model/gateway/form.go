package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// form is the language of one service.
type form struct {
	// base is the service's own address.
	base string
	// under is what programs expect behind the address, above what some have at its end and others in their paths.
	under, above string
	// call reads a request; nil where the path is none of the service's.
	call func(path string, body []byte) *call
	// sign sets the key, and returns the one that was there.
	token func(http.Header) string
	sign  func(h http.Header, key string)
	// read adds what one event of an answer says of tokens and service tier to the use so far, and reports whether it is the last
	// word.
	read func(event []byte, u *Use) bool
	// refusal is the body of an error.
	refusal func(kind, why string) []byte
}

// call is one request to a model.
type call struct {
	// path is where the service has it, behind its address; empty for the path as it came.
	path  string
	model string
	// most is the bound of each of its answers in tokens, 0 where it names none; answers is how many it wants, 0 for one.
	most, answers int
	// windows is how many prompts of a whole window it may take, 0 for one that its bytes bound; why is the reason.
	windows int
	why     string
	// free reports that the call asks for no answer of a model, such as a list of models or a count of tokens; reads that it is a
	// GET, and not a POST.
	free, reads bool
}

// where returns the call of a request that could be read, else nil.
func (c *call) where(read bool) *call {
	if !read {
		return nil
	}
	return c
}

var forms = map[string]*form{spec.GatewayAnthropic: &anthropic, spec.GatewayOpenAI: &openAI, spec.GatewayGemini: &gemini}

// Forms are the names of the forms, sorted.
func Forms() []string { return slices.Sorted(maps.Keys(forms)) }

// request are the fields of a JSON object, by their names in small letters without "_": services differ in which forms of a name
// they read.
type request map[string]json.RawMessage

// fieldsOf reads an object. One with two fields of a name is none: the service might read the other one.
func fieldsOf(body []byte) (r request, ok bool) {
	d, r := json.NewDecoder(bytes.NewReader(body)), request{}
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		key, _ := name.(string)
		key = strings.ReplaceAll(strings.ToLower(key), "_", "")
		var value json.RawMessage
		if err != nil || r[key] != nil || d.Decode(&value) != nil {
			return nil, false
		}
		r[key] = value
	}
	_, closed := d.Token()
	_, after := d.Token()
	return r, closed == nil && after == io.EOF
}

// get reads a field that may be absent.
func get[T any](r request, name string, ok *bool) (value T) {
	if raw := r[name]; raw != nil && json.Unmarshal(raw, &value) != nil {
		*ok = false
	}
	return value
}

// bearer is the token of an Authorization header.
func bearer(h http.Header) string {
	token, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return token
}

// largest sets a count to what an event says, where that is more: counts of one answer only grow.
func largest(count *int, said float64) {
	if said > float64(*count) {
		*count = int(min(said, spec.MaxCount))
	}
}

// serve notes the tier that a service says to have served.
func (u *Use) serve(tier string) {
	if tier = strings.ToLower(tier); tier != "" && tier != "standard" && tier != "default" && tier != "auto" {
		u.Tier = tier
	}
}
