package configs

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noLoader keeps schemas from being fetched: what a file names is never opened.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// schema faults a text that is not a JSON Schema of its own.
func (d *document) schema(path string, text json.RawMessage) {
	if len(text) == 0 || d.unread(path) {
		return
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err == nil {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(noLoader{})
		if err = compiler.AddResource("role:output", value); err == nil {
			_, err = compiler.Compile("role:output")
		}
	}
	if err != nil {
		d.faultf(d.where(path), "", "%s is not a JSON Schema: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
}
