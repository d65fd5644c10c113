package acceptance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const (
	// maxTables bounds tables in tables: their names together grow with the square of it.
	maxTables = 32
	// maxDots bounds the dots of a line: the library's time grows with the square of those in a name.
	maxDots = 1000
)

var errNested = errors.New("TOML tables are nested too deep")

// tomlValues returns the values of a TOML text by their dotted names; the entries of an array with tables are numbered from 1.
func tomlValues(content []byte) (map[string]string, error) {
	for line := range bytes.Lines(content) {
		if bytes.Count(line, []byte(".")) > maxDots {
			return nil, errNested
		}
	}
	var document map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &document); err != nil {
		return nil, fmt.Errorf("read TOML: %w", err)
	}
	values := map[string]string{}
	return values, flatten(document, "", maxTables, values)
}

// flatten writes what is below a table to out, tables too, as a table can be empty.
func flatten(table map[string]any, prefix string, depth int, out map[string]string) (err error) {
	if depth == 0 {
		return errNested
	}
	for key, value := range table {
		if strings.Contains(key, ".") {
			key = strconv.Quote(key) // it is no dotted name
		}
		inner, name := map[string]any{}, prefix+key
		if table, ok := value.(map[string]any); ok {
			inner = table
		}
		list, _ := value.([]any)
		if slices.ContainsFunc(list, isTable) {
			for i, entry := range list {
				inner[fmt.Sprint(i+1)] = entry
			}
		}
		out[name] = fmt.Sprintf("%#v", value)
		if len(inner) > 0 {
			out[name] = "table"
			err = errors.Join(err, flatten(inner, name+".", depth-1, out))
		}
	}
	return err
}

func isTable(value any) bool {
	_, is := value.(map[string]any)
	return is
}
