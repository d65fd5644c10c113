// Package chat calls OpenAI's Chat Completions, which most other services and local servers offer too: Ollama, vLLM, llama.cpp,
// LM Studio, OpenRouter, LiteLLM. Its input are contents in the types of Gemini's API, which become messages; its output are
// parts, made of the chunks of the answer. Services differ in small ways: what one refuses is read from its error and left out
// from then on. It never retries an answer: package model does.
package chat
