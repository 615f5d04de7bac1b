/**
 * HTTP server: HomeSeer's web server, with the faults that can be switched on.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { startListening } from '../../core/listen-server.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import { BACKUP_PAGE_PATH, SCRIPT_PAGE_PATH } from '../../homeseer/wire/script-and-backup-pages.ts'
import {
  BAD_REQUEST_ANSWER,
  createPageAnswer,
  createResponseTextAnswer,
  createOkOrErrorAnswer,
  type SimulatedHttpAnswer,
} from './http-answer.ts'
import { identifySimulatedUser } from './login.ts'
import { parseQueryCaseInsensitively } from './query-parser.ts'
import { answerReadRequest } from './read-api.ts'
import { answerBackupPage, answerScriptPage } from './script-page.ts'
import type { SimulatedUser } from './simulated-system.ts'
import type { SimulatedWorld } from './simulated-world.ts'
import { answerPostActionRequest, answerWriteRequest } from './write-api.ts'

export interface SimulatorListenOptions {
  readonly host: string
  readonly port: number
  /** Called after each request, so that its consequences can happen. */
  readonly settle: () => void
}

interface Served {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly settle: () => void
}

const MAX_BODY_BYTES = 1_024 * 1_024

export async function startHomeseerHttpServer(
  world: SimulatedWorld,
  place: SimulatorListenOptions,
): Promise<{ readonly server: Server; readonly stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    // A connection that was closed by either side needs no handling.
    request.on('error', () => undefined)
    void serve(world, { request, response, settle: place.settle })
  })
  await startListening(server, place)
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { server, stop }
}

async function serve(world: SimulatedWorld, { request, response, settle }: Served): Promise<void> {
  const { faults } = world
  const body = await readBody(request)
  if (body === undefined || taken(faults, 'dropBefore')) {
    request.socket.destroy()
    return
  }
  // A configured status replaces the act: a proxy in front of HomeSeer would not have passed the request on.
  const answer = failing(faults) ?? route(world, request, body)
  settle()
  if (faults.replyDelayMs > 0) await wait(faults.replyDelayMs)
  // The request was carried out but not answered: the client must not assume that nothing happened.
  if (taken(faults, 'dropAfter')) {
    request.socket.destroy()
    return
  }
  send(faults, response, answer)
}

function route(world: SimulatedWorld, request: IncomingMessage, body: string): SimulatedHttpAnswer {
  const [path = '', query = ''] = splitOnce(request.url ?? '', '?')
  const page = path.toLowerCase()
  const form = request.method === 'POST' && page !== '/json' ? `${query}&${body}` : query
  const parameters = parseQueryCaseInsensitively(form)
  if (page !== '/json' && page !== SCRIPT_PAGE_PATH && page !== BACKUP_PAGE_PATH)
    return createPageAnswer(404, 'Not found')
  const user = identifySimulatedUser(world.system, {
    authorization: request.headers.authorization,
    user: parameters.get('user'),
    password: parameters.get('pass'),
  })
  if (user === undefined) return refusedLogin(world)
  const question = { parameters, user, nowMs: Date.now() }
  if (page === SCRIPT_PAGE_PATH) return answerScriptPage(world, question)
  if (page === BACKUP_PAGE_PATH) return answerBackupPage(world, question)
  return answerJson(world, request, { parameters, user, body })
}

function answerJson(
  world: SimulatedWorld,
  request: IncomingMessage,
  asked: { readonly parameters: ReadonlyMap<string, string>; readonly user: SimulatedUser; readonly body: string },
): SimulatedHttpAnswer {
  const { parameters, user } = asked
  if (world.faults.jsonDisabled) return createResponseTextAnswer('Error, JSON control is disabled')
  if (world.faults.bareError) return createOkOrErrorAnswer('error')
  const requester = { user, nowMs: Date.now() }
  if (request.method === 'POST') {
    const value = parseJsonOrUndefined(asked.body)
    return isJsonObject(value) ? answerPostActionRequest(world, value, requester) : BAD_REQUEST_ANSWER
  }
  const name = parameters.get('request')?.toLowerCase() ?? ''
  const question = { parameters, ...requester }
  return answerReadRequest(world, name, question) ?? answerWriteRequest(world, name, question) ?? BAD_REQUEST_ANSWER
}

function refusedLogin({ faults }: SimulatedWorld): SimulatedHttpAnswer {
  if (faults.wrongLogin === 'response-text') return createResponseTextAnswer('Error, login failed')
  return createPageAnswer(401, 'Unauthorized')
}

function send(faults: SimulatedWorld['faults'], response: ServerResponse, answer: SimulatedHttpAnswer): void {
  const bytes = typeof answer.body === 'string' ? Buffer.from(answer.body, 'utf8') : answer.body
  const type = answer.contentType ?? faults.contentType
  response.statusCode = answer.status
  if (type !== undefined) response.setHeader('Content-Type', type)
  if (answer.status === 401) response.setHeader('WWW-Authenticate', 'Basic realm="HomeSeer"')
  // The full length, even if the answer will be cut off, so that the client must notice.
  response.setHeader('Content-Length', bytes.length)
  if (!taken(faults, 'truncate')) {
    response.end(bytes)
    return
  }
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.socket?.destroy())
}

/** One of the configured faults, which is used up. */
function taken(faults: SimulatedWorld['faults'], which: 'dropBefore' | 'dropAfter' | 'truncate'): boolean {
  if (faults[which] <= 0) return false
  faults[which]--
  return true
}

function failing({ failWith }: SimulatedWorld['faults']): SimulatedHttpAnswer | undefined {
  if (failWith.times <= 0) return undefined
  failWith.times--
  return createPageAnswer(failWith.status, 'Error')
}

/** `undefined` past the limit, and when the sender goes away. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for await (const piece of request as AsyncIterable<Uint8Array>) {
      size += piece.length
      if (size > MAX_BODY_BYTES) return undefined
      pieces.push(piece)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(pieces, size).toString('utf8')
}

function splitOnce(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
