// Package chat is a client of OpenAI's Chat Completions, which most other services and local servers speak too: Ollama, vLLM,
// llama.cpp, LM Studio, OpenRouter, LiteLLM. Contents become messages and chunks become parts, so that nothing above
// model.Model knows the difference. Services differ in small ways; what one refuses is learnt from its words and left out from
// then on.
package chat
