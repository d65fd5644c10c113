package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON writes a value with sorted keys, without white space and without the escapes that only web pages need: code stays
// readable as code, and costs fewer tokens.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// JSONText is JSON for texts that are shown. What JSON cannot hold (NaN, a channel) is printed as Go prints it, which sorts keys
// too.
func JSONText(v any) string {
	data, err := JSON(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(data)
}
