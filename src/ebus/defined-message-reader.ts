/**
 * Defined message reader: reads messages of definition files by name, for planes, or by ebusd's priorities.
 *
 * Does I/O through the bus it is given.
 */
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { EbusRequest, EbusStatus } from './adapter/ebus-connection.ts'
import type { MessageReadFailure } from './definitions/message-read-retry-tracker.ts'
import type { DefinitionErrorCode } from './definitions/definition-error.ts'
import type { LastMessageData } from './definitions/message-chain.ts'
import type { MessageDefinition } from './definitions/message-definition.ts'
import { encodeCommands } from './definitions/message-encoder.ts'
import type { HeatingInstallation } from './heating-installation.ts'
import { listUnreadMessages } from './semantic/mapped-message.ts'
import type { HeatingPlaneName } from './semantic/planes.ts'
import type { RegisterReadFault } from './semantic/register-reader.ts'
import { createTelegramExchange } from './wire/telegram.ts'

export interface HeatingBusSendOptions {
  readonly deadlineMs: number
  readonly caller: string
  readonly signal?: AbortSignal
  /** Only a telegram that changes nothing may be repeated. */
  readonly repeatable: boolean
}

export interface DefinedMessageReaderOptions {
  readonly id: string
  readonly installation: HeatingInstallation
  readonly readOnly: boolean
  readonly clock: Clock
  readonly logger: Logger
  readonly status: () => EbusStatus
  readonly send: (
    request: EbusRequest,
    options: HeatingBusSendOptions,
  ) => Promise<Result<Uint8Array, RegisterReadFault>>
}

/** ebusd's default: one message in five seconds. */
const POLL_TICKS = 5
const DEADLINE_MS = 2_000

export class DefinedMessageReader {
  readonly #options: DefinedMessageReaderOptions
  #isPolling = false

  constructor(options: DefinedMessageReaderOptions) {
    this.#options = options
  }

  /** Reads a message by its definition, part by part; the result is stored in the definitions. */
  async read(
    message: MessageDefinition,
    values: string,
    options: HeatingBusSendOptions,
  ): Promise<Result<LastMessageData, RegisterReadFault | DefinitionErrorCode>> {
    const commands = encodeCommands(message, values)
    if (!commands.ok) return commands
    const { definitions } = this.#options.installation
    for (const { target, data } of commands.value) {
      const request = { target, primary: message.pb, secondary: message.sb, data }
      const sent = await this.#options.send(request, options)
      if (!sent.ok) return sent
      definitions?.store(message, createTelegramExchange(request, sent.value), this.#options.clock.now())
    }
    const last = definitions?.last(message)
    return last === undefined ? fail<DefinitionErrorCode>('end-of-input') : ok(last)
  }

  /** Reads messages that these planes need and that are not known yet. */
  async readMapped(planes: readonly HeatingPlaneName[], signal: AbortSignal): Promise<void> {
    const { definitions } = this.#options.installation
    if (definitions === undefined) return
    // A message that failed because of the bus is due again in the next round; after a few failures it is given up.
    for (
      let unread = listUnreadMessages(definitions, planes);
      unread.length > 0;
      unread = listUnreadMessages(definitions, planes)
    )
      for (const message of unread) {
        const { connected, signal: hasSignal, source } = this.#options.status()
        if (signal.aborted || !connected || !hasSignal || source !== 'admitted') return
        await this.#readDue(message, signal)
      }
  }

  /**
   * Reads one message by ebusd's priorities now and then, within ebusd's own share of the bus; called every second with
   * `tick`.
   */
  async poll(tick: number): Promise<void> {
    const { installation, readOnly, clock, logger, id } = this.#options
    const { definitions } = installation
    const { connected, signal, source } = this.#options.status()
    if (definitions === undefined || this.#isPolling || !connected || !signal) return
    if (!readOnly && source !== 'admitted') return
    const isTurn = tick % POLL_TICKS === 0
    const message = definitions.nextAwaited(clock.monotonic()) ?? (isTurn ? definitions.nextPoll() : undefined)
    if (message === undefined) return
    this.#isPolling = true
    try {
      await this.#readDue(message)
    } catch (error) {
      logger.error({ err: error, bus: id }, 'a message could not be polled')
    } finally {
      this.#isPolling = false
    }
  }

  /** A cancelled read says nothing about the message. */
  async #readDue(message: MessageDefinition, signal?: AbortSignal): Promise<void> {
    const options = {
      deadlineMs: DEADLINE_MS,
      caller: 'poll',
      repeatable: true,
      ...(signal === undefined ? {} : { signal }),
    }
    const read = await this.read(message, '', options)
    const { installation, clock } = this.#options
    if (!read.ok && signal?.aborted !== true)
      installation.definitions?.noteFailedRead(message, classifyReadFailure(read.fault), clock.monotonic())
  }
}

/** A message that cannot be requested at all counts as refused. */
function classifyReadFailure(fault: RegisterReadFault | DefinitionErrorCode): MessageReadFailure {
  // An answer that the definition cannot decode still counts as an answer.
  if (typeof fault === 'string' || fault.kind === 'refused') return 'refused'
  return fault.kind === 'no-answer' ? 'no-answer' : 'bus'
}
