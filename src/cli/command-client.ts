/**
 * Command: what all commands share: the global options, the configuration, the request to the gateway, and the answer
 * on stdout in the requested form.
 */
import { homedir } from 'node:os'
import type { Command } from 'commander'
import { formatConfigProblem } from '../config/config-file.ts'
import { loadConfig } from '../config/config-file-store.ts'
import { resolveDataRoot } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { CallResultView } from '../web/api-requests.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'
import type { ApiRequest, GatewayClientFault } from './gateway-client.ts'
import { EXIT_CODES, formatTerminalSafeJson, sanitizeForTerminal } from './command-output.ts'
import type { CommandAnswer, ExitCode } from './command-output.ts'
import { formatCallResult } from './gateway-text.ts'

export interface GlobalOptions {
  readonly data?: string
  readonly config?: string
  readonly json?: boolean
}

/** Global options are accepted before and after the command. */
export function readGlobalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>()
}

export function readDataRoot(command: Command): string {
  return resolveDataRoot(readGlobalOptions(command).data, process.env, homedir())
}

/** Reads the configuration. Returns `undefined` after it has printed the problems; then the command ends. */
export function readCommandConfig(command: Command): Config | undefined {
  const loaded = loadConfig(readGlobalOptions(command).config, process.env, homedir())
  if (loaded.ok) {
    for (const note of loaded.value.notes) process.stderr.write(`environment: ${note}\n`)
    for (const sentence of loaded.value.idle) process.stderr.write(`configuration: ${sentence}\n`)
    return loaded.value.config
  }
  process.stderr.write(`${loaded.fault.map(formatConfigProblem).join('\n')}\n`)
  process.exitCode = EXIT_CODES.usage
  return undefined
}

/** Only the answer is written to stdout, so that it can be piped; everything else goes to stderr. */
export function printAnswer(command: Command, { json, text, exit = EXIT_CODES.ok }: CommandAnswer): void {
  process.stdout.write(
    `${readGlobalOptions(command).json === true ? formatTerminalSafeJson(json) : sanitizeForTerminal(text)}\n`,
  )
  process.exitCode = exit
}

/** Sends a request to the running gateway and prints the answer or the fault. */
export async function fetchAndPrintGatewayAnswer(
  command: Command,
  question: ApiRequest,
  render: (value: Json) => CommandAnswer,
): Promise<void> {
  const value = await fetchFromGatewayOrExplain(command, question)
  if (value !== undefined) printAnswer(command, render(value))
}

/**
 * For commands that send several requests. Returns `undefined` after it has printed the fault; then the command ends.
 */
export async function fetchFromGatewayOrExplain(command: Command, question: ApiRequest): Promise<Json | undefined> {
  const gateway = findRunningGateway(readGlobalOptions(command))
  const answer = gateway.ok ? await requestGateway(gateway.value, question) : gateway
  if (answer.ok) return answer.value
  printGatewayFault(command, answer.fault)
  return undefined
}

/** Calls a tool with the owner's credential. `undefined` after it was told why not: the command ends there. */
export async function callToolAsOwner(
  command: Command,
  tool: string,
  body: JsonObject,
  formatFailure: (view: CallResultView) => CommandAnswer = formatCallResult,
): Promise<CallResultView | undefined> {
  const question = { method: 'POST', path: '/api/call', body: { tool, arguments: body } } as const
  const value = await fetchFromGatewayOrExplain(command, { ...question, asOwner: true, mayTakeLong: true })
  if (value === undefined) return undefined
  const view = value as unknown as CallResultView
  if (view.outcome === 'ok') return view
  printAnswer(command, formatFailure(view))
  return undefined
}

/** The `data` of the tool's answer; `undefined` after it was told why there is none. */
export async function readToolDataAsOwner(
  command: Command,
  tool: string,
  body: JsonObject,
): Promise<JsonObject | undefined> {
  const view = await callToolAsOwner(command, tool, body)
  if (view === undefined) return undefined
  const { data } = isJsonObject(view.structured) ? view.structured : {}
  if (isJsonObject(data)) return data
  printAnswer(command, formatCallResult(view))
  return undefined
}

/** The same facts on stdout for a program, a sentence on stderr for a person. */
export function printGatewayFault(command: Command, fault: GatewayClientFault): void {
  if (readGlobalOptions(command).json === true)
    process.stdout.write(`${formatTerminalSafeJson({ ok: false, error: fault })}\n`)
  else process.stderr.write(`${sanitizeForTerminal(fault.message)}\n`)
  process.exitCode = exitOf(fault)
}

/** A denied call has another exit code than a failed one: a script may ask a person for the approval and try again. */
function exitOf(fault: GatewayClientFault): ExitCode {
  if (fault.kind !== 'refused') return EXIT_CODES.unreachable
  return fault.status === 401 || fault.status === 403 ? EXIT_CODES.denied : EXIT_CODES.failed
}
