/**
 * Backend: somebody who can continue a conversation, or turn texts into vectors. What it is made of is its own
 * business.
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

/** `length`: cut off by `maxTokens`, or by the model's own limit. */
export interface ChatCompletionEnd {
  readonly finishReason: 'stop' | 'length'
  readonly tokensIn: number
  readonly tokensOut: number
}

export interface EmbeddingResult {
  /** One per text, in their order, all of one length. */
  readonly vectors: readonly (readonly number[])[]
  readonly tokensIn: number
}

/** Faults are values: a backend throws only for a bug of its own. An aborted signal ends it at the next piece. */
export interface ModelBackend {
  /** What metrics call it. */
  readonly name: string
  /** Yields pieces of text as they come; how it ended is what it returns. */
  readonly chat: (
    request: ChatRequest,
    signal: AbortSignal,
  ) => AsyncGenerator<string, Result<ChatCompletionEnd, Fault>, void>
  readonly embed: (
    request: { readonly model: string; readonly texts: readonly string[] },
    signal: AbortSignal,
  ) => Promise<Result<EmbeddingResult, Fault>>
  /** Whether anybody is there who lets us in; absent where there is nobody to be reached. */
  readonly reach?: (signal: AbortSignal) => Promise<Result<undefined, Fault>>
}
