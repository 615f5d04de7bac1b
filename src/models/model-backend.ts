/**
 * Backend: continues a conversation, or turns texts into vectors. The interface hides which server or program does so.
 */
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface ChatRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly temperature?: number | undefined
  readonly maxTokens?: number | undefined
}

/** `length`: the answer was cut off by `maxTokens`, or by the model's own limit. */
export interface ChatCompletionEnd {
  readonly finishReason: 'stop' | 'length'
  readonly tokensIn: number
  readonly tokensOut: number
}

export interface EmbeddingResult {
  /** One vector per text, in the order of the texts, all of the same length. */
  readonly vectors: readonly (readonly number[])[]
  readonly tokensIn: number
}

/** Faults are values: a backend throws only for a bug of its own. An aborted signal ends it at the next piece. */
export interface ModelBackend {
  /** The backend's name in metrics. */
  readonly name: string
  /** Yields pieces of text as they arrive, and returns how the answer ended. */
  readonly chat: (
    request: ChatRequest,
    signal: AbortSignal,
  ) => AsyncGenerator<string, Result<ChatCompletionEnd, Fault>, void>
  readonly embed: (
    request: { readonly model: string; readonly texts: readonly string[] },
    signal: AbortSignal,
  ) => Promise<Result<EmbeddingResult, Fault>>
  /** Checks whether the server answers and accepts our credentials; absent for a backend without a server. */
  readonly reach?: (signal: AbortSignal) => Promise<Result<undefined, Fault>>
}
