package spec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noLoader keeps a schema from naming files or addresses that would be opened.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// CompileSchema reads a JSON Schema that checks values. name is its place in error messages. It opens nothing that the schema
// names.
func CompileSchema(name string, text []byte) (*jsonschema.Schema, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, value); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return compiler.Compile(name)
}
