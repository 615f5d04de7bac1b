/** API: how the page asks its gateway. Same origin only; every request shows the key half of the session. */
import type { CallResultView } from '../../../src/web/views.ts'
import type { SignInResultView } from '../../../src/web/views.ts'
import { isObject, stringAt } from './json.ts'
import type { JsonObject } from './json.ts'
import { presenceHeaders } from './presence.ts'

const KEY_HEADER = 'x-hearthbus-key'
const KEY_NAME = 'hearthbus-key'

/** Why an answer did not come, in a sentence; 0 means that nobody answered. */
export class Failure extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

let onSignedOut = (): void => undefined

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener
}

export function hasKey(): boolean {
  return localStorage.getItem(KEY_NAME) !== null
}

export function forgetKey(): void {
  localStorage.removeItem(KEY_NAME)
}

export function keyHeaders(): Record<string, string> {
  const key = localStorage.getItem(KEY_NAME)
  return key === null ? {} : { [KEY_HEADER]: key }
}

export function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return ask<Answer>('GET', path, undefined, signal)
}

export function post<Answer>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<Answer> {
  return ask<Answer>('POST', path, body, signal)
}

export function remove<Answer>(path: string): Promise<Answer> {
  return ask<Answer>('DELETE', path, undefined)
}

/** Calls a tool, through the same guard and into the same ledger as an agent's call. */
export function callTool(
  tool: string,
  body: JsonObject = {},
  options: { readonly node?: string } = {},
): Promise<CallResultView> {
  return post<CallResultView>('/api/call', { tool, arguments: body, ...options })
}

export async function signIn(
  credential: { readonly code: string } | { readonly token: string },
): Promise<SignInResultView> {
  // An older key must not spoil a fresh sign-in.
  forgetKey()
  const session = await post<SignInResultView>('/api/session', credential)
  localStorage.setItem(KEY_NAME, session.key)
  return session
}

/** For what is kept as a file: the proof of an entry. */
export async function getText(path: string): Promise<string> {
  const response = await send('GET', path)
  const text = await response.text()
  if (!response.ok) throw failureOf(response.status, parse(text))
  return text
}

async function ask<Answer>(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await send(method, path, body, signal)
  const answer = parse(await response.text())
  if (response.ok) return answer as Answer
  if (response.status === 401 && hasKey()) onSignedOut()
  throw failureOf(response.status, answer)
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: {
        ...keyHeaders(),
        ...presenceHeaders(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new Failure(0, 'The gateway does not answer.')
  }
}

function failureOf(status: number, answer: unknown): Failure {
  const message = stringAt(answer, 'error', 'message')
  return new Failure(status, message ?? `The gateway answered ${status}.`)
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) || Array.isArray(value) ? value : { value }
  } catch {
    return {}
  }
}
