/**
 * Command: what all commands share: the options before them, the configuration, the question to the gateway, and the
 * answer on stdout in the form that was asked for.
 */
import { homedir } from 'node:os'
import type { Command } from 'commander'
import { formatConfigProblem } from '../config/config-file.ts'
import { loadConfig } from '../config/config-store.ts'
import { resolveDataRoot } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import type { Json } from '../core/json.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'
import type { ApiRequest, GatewayClientFault } from './gateway-client.ts'
import { EXIT_CODES, formatTerminalSafeJson, sanitizeForTerminal } from './command-output.ts'
import type { CommandAnswer, ExitCode } from './command-output.ts'

export interface GlobalOptions {
  readonly data?: string
  readonly config?: string
  readonly json?: boolean
}

/** Given before or behind the command: both are understood. */
export function readGlobalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>()
}

export function readDataRoot(command: Command): string {
  return resolveDataRoot(readGlobalOptions(command).data, process.env, homedir())
}

/** `undefined` after the problems were written: the command ends there. */
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

/** stdout has the answer and nothing else, so that it can be piped; everything beside it goes to stderr. */
export function printAnswer(command: Command, { json, text, exit = EXIT_CODES.ok }: CommandAnswer): void {
  process.stdout.write(
    `${readGlobalOptions(command).json === true ? formatTerminalSafeJson(json) : sanitizeForTerminal(text)}\n`,
  )
  process.exitCode = exit
}

/** Asks the running gateway and says what came of it. */
export async function printGatewayResponse(
  command: Command,
  question: ApiRequest,
  render: (value: Json) => CommandAnswer,
): Promise<void> {
  const value = await fetchFromGateway(command, question)
  if (value !== undefined) printAnswer(command, render(value))
}

/** For commands that ask more than once; `undefined` after the trouble was told: the command ends there. */
export async function fetchFromGateway(command: Command, question: ApiRequest): Promise<Json | undefined> {
  const gateway = findRunningGateway(readGlobalOptions(command).data)
  const answer = gateway.ok ? await requestGateway(gateway.value, question) : gateway
  if (answer.ok) return answer.value
  complain(command, answer.fault)
  return undefined
}

/** The same facts on stdout for a program, a sentence on stderr for a person. */
function complain(command: Command, fault: GatewayClientFault): void {
  if (readGlobalOptions(command).json === true)
    process.stdout.write(`${formatTerminalSafeJson({ ok: false, error: fault })}\n`)
  else process.stderr.write(`${sanitizeForTerminal(fault.message)}\n`)
  process.exitCode = exitOf(fault)
}

/** Denied is told from failed: a script may ask somebody for the approval and try again. */
function exitOf(fault: GatewayClientFault): ExitCode {
  if (fault.kind !== 'refused') return EXIT_CODES.unreachable
  return fault.status === 401 || fault.status === 403 ? EXIT_CODES.denied : EXIT_CODES.failed
}
