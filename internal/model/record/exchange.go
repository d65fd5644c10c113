package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// key reports what an exchange was for. Several exchanges may have one key: their occurrences count from 1.
type key struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Turn    int    `json:"turn"`
	Purpose string `json:"purpose"`
}

func keyOf(m model.Meta) key { return key{m.Task, m.Attempt, m.Turn, m.Purpose} }

// String names the key for people.
func (k key) String() string {
	return fmt.Sprintf("%s, attempt %d, turn %d (%s)", k.Task, k.Attempt, k.Turn, k.Purpose)
}

// stem is the common beginning of the names of the key's files.
func (k key) stem() string {
	return fmt.Sprintf("%s.%d.%03d.%s.", inName(k.Task), k.Attempt, k.Turn, inName(k.Purpose))
}

// inName writes a word so that any disk takes it as a part of a name, and dots part words.
func inName(word string) string {
	return strings.ReplaceAll(url.PathEscape(cmp.Or(word, "-")), ".", "%2E")
}

// exchange is one call as a file has it.
type exchange struct {
	key

	Occurrence int `json:"occurrence"`
	// Session counts the times that the recording was gone on with; its process made the exchange.
	Session int       `json:"session"`
	Began   time.Time `json:"began"`
	// Request is as request has it.
	Request json.RawMessage `json:"request"`
	Events  []event         `json:"events,omitempty"`
	// Ms is how long it took, in milliseconds. One of Result, Error and BrokenOff reports how it ended; BrokenOff is the caller's
	// doing.
	Ms        int64         `json:"ms"`
	Result    *model.Result `json:"result,omitempty"`
	Error     *fault        `json:"error,omitempty"`
	BrokenOff bool          `json:"broken_off,omitempty"`
}

// event is a delta and when it came, in milliseconds from the begin.
type event struct {
	Ms      int64       `json:"ms"`
	Restart bool        `json:"restart,omitempty"`
	Delta   *genai.Part `json:"delta"`
}

// unsplit joins the texts of an answer that has a secret, which could not be found in pieces.
func (x *exchange) unsplit(secrets []string) {
	var all strings.Builder
	for _, e := range x.Events {
		all.WriteString(e.Delta.Text)
	}
	if !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(all.String(), s) }) {
		return
	}
	var joined []event
	for _, e := range x.Events {
		if n := len(joined); n > 0 && !e.Restart && e.Delta.Text != "" && joined[n-1].Delta.Text != "" &&
			joined[n-1].Delta.Thought == e.Delta.Thought {
			whole := *joined[n-1].Delta
			whole.Text += e.Delta.Text
			joined[n-1].Delta = &whole
			continue
		}
		joined = append(joined, e)
	}
	x.Events = joined
}

// fault is a model.Error.
type fault struct {
	Class      model.Class   `json:"class"`
	Message    string        `json:"message,omitempty"`
	RetryAfter spec.Duration `json:"retry_after,omitzero"`
	Quota      string        `json:"quota,omitempty"`
	Status     int           `json:"status,omitempty"`
	Usage      spec.Usage    `json:"usage,omitzero"`
	// Cause reports why the caller ended the call, where it did.
	Cause string `json:"cause,omitempty"`
}

// name is the name of the exchange's file.
func (x *exchange) name() string { return fmt.Sprintf("%s%d.json", x.stem(), x.Occurrence) }

// parse reads an exchange from the file of a name.
func parse(name string, data []byte) (*exchange, error) {
	var x exchange
	if err := decode(data, &x); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if why := x.defect(); why != "" {
		return nil, fmt.Errorf("%s: %s", name, why)
	}
	if own := x.name(); own != name {
		return nil, fmt.Errorf("%s contains the exchange of %s, which belongs into %s: was it renamed or copied?",
			name, x.key, own)
	}
	return &x, nil
}

// defect reports what of an exchange is missing or cannot be; "" when nothing is.
func (x *exchange) defect() string {
	ends := 0
	for _, is := range []bool{x.Result != nil, x.Error != nil, x.BrokenOff} {
		if is {
			ends++
		}
	}
	switch {
	case x.Occurrence < 1 || x.Session < 1 || x.Attempt < 0 || x.Turn < 0:
		return "its numbers cannot be"
	case len(x.Request) == 0 || x.Request[0] != '{':
		return "it has no request"
	case ends != 1:
		return "it needs one of result, error and broken_off"
	case x.Error != nil && x.Error.Class == "":
		return "its error has no class"
	case x.Result != nil && !whole(x.Result.Content):
		return "its result has no content, or an empty part"
	}
	for i, e := range x.Events {
		if e.Delta == nil {
			return fmt.Sprintf("events[%d] has no delta", i)
		}
	}
	return ""
}

func whole(c *genai.Content) bool {
	if c == nil {
		return false
	}
	for _, p := range c.Parts {
		if p == nil {
			return false
		}
	}
	return true
}

// decode reads one JSON document that this package has written.
func decode(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file is cut off")
	case err != nil:
		return fmt.Errorf("it is no part of a recording: %w", err)
	case dec.More():
		return errors.New("there is something after its end")
	}
	return nil
}

// encode writes a document for people and decode to read, without the secrets.
func encode(v any, secrets []string) ([]byte, error) {
	data, err := marshal(v, " ")
	for _, s := range secrets {
		quoted, fault := marshal(s, "")
		err = errors.Join(err, fault)
		inText := bytes.TrimSpace(quoted)
		data = bytes.ReplaceAll(data, inText[1:len(inText)-1], []byte("[secret]"))
	}
	return data, err
}

// marshal writes JSON in which < and & stay what they are.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}
