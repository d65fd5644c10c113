package geminitest

import "encoding/json"

// merge makes one document of a stream, for generateContent: the parts of all chunks, the rest from the last.
func merge(chunks [][]byte) []byte {
	if len(chunks) == 1 {
		return chunks[0]
	}
	whole := object{}
	var parts []any
	for _, raw := range chunks {
		var chunk object
		if err := json.Unmarshal(raw, &chunk); err != nil {
			return raw // a malformed chunk stays malformed
		}
		parts = append(parts, partsOf(chunk)...)
		for k, v := range chunk {
			whole[k] = v
		}
	}
	if c := candidate(whole); c != nil && len(parts) > 0 {
		c["content"] = object{"role": "model", "parts": parts}
	}
	return mustJSON(whole)
}

func candidate(chunk object) object {
	list, ok := chunk["candidates"].([]any)
	if !ok || len(list) == 0 {
		return nil
	}
	c, ok := list[0].(object)
	if !ok {
		return nil
	}
	return c
}

func partsOf(chunk object) []any {
	content, ok := candidate(chunk)["content"].(object)
	if !ok {
		return nil
	}
	parts, ok := content["parts"].([]any)
	if !ok {
		return nil
	}
	return parts
}
