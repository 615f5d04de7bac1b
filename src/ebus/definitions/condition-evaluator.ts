/**
 * Condition evaluator: which conditions of definition files hold by what a bus has said, each decided once until
 * something new is known.
 */
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import type { MessageCondition } from './message-condition.ts'
import { isConditionMet } from './message-condition.ts'
import type { TelegramData } from './message-decoder.ts'
import { decodeField, decodeMessage, decodeRawFieldNumber, formatDecodedMessage } from './message-decoder.ts'
import type { MessageDefinition } from './message-definition.ts'

/** What conditions depend on. */
export interface ConditionLookups {
  readonly findIdentity: (address: number) => BusDeviceIdentity | undefined
  readonly findMessage: (condition: MessageCondition) => MessageDefinition | undefined
  readonly findData: (message: MessageDefinition) => TelegramData | undefined
  /** Whether this message was given up, because no device answers. */
  readonly isGivenUp: (message: MessageDefinition) => boolean
}

export class ConditionEvaluator {
  readonly #facts: ConditionLookups
  readonly #evaluating = new Set<MessageCondition>()
  readonly #verdicts = new Map<MessageCondition, boolean | undefined>()

  constructor(facts: ConditionLookups) {
    this.#facts = facts
  }

  /**
   * Whether a condition holds at present; `undefined` while its message is not known. A condition that depends on
   * itself does not hold.
   */
  holds(condition: MessageCondition): boolean | undefined {
    if (this.#verdicts.has(condition)) return this.#verdicts.get(condition)
    if (this.#evaluating.has(condition)) return false
    this.#evaluating.add(condition)
    const verdict = condition.message === '' ? this.#matchesIdentity(condition) : this.#matchesMessage(condition)
    this.#evaluating.delete(condition)
    this.#verdicts.set(condition, verdict)
    return verdict
  }

  forget(conditions: Iterable<MessageCondition>): void {
    for (const condition of conditions) this.#verdicts.delete(condition)
  }

  clear(): void {
    this.#verdicts.clear()
  }

  #matchesIdentity({ target, field, values }: MessageCondition): boolean {
    const identity = this.#facts.findIdentity(target ?? -1)
    if (identity === undefined) return false
    const { manufacturerCode, manufacturer, deviceId, software, hardware } = identity
    switch (field.toUpperCase()) {
      case 'ID':
        return isConditionMet(values, { raw: undefined, text: deviceId })
      case 'SW':
        return isConditionMet(values, { raw: Number(software), text: software })
      case 'HW':
        return isConditionMet(values, { raw: Number(hardware), text: hardware })
      default:
        return isConditionMet(values, { raw: manufacturerCode, text: manufacturer })
    }
  }

  #matchesMessage(condition: MessageCondition): boolean | undefined {
    const message = this.#facts.findMessage(condition)
    if (message === undefined) return false
    const data = this.#facts.findData(message)
    if (data === undefined) return this.#facts.isGivenUp(message) || message.isPassive ? false : undefined
    const { field, values } = condition
    if (values.kind === 'numbers')
      return isConditionMet(values, { raw: decodeRawFieldNumber(message, field, data), text: undefined })
    if (field === '') {
      const decoded = decodeMessage(message, data)
      return isConditionMet(values, {
        raw: undefined,
        text: decoded.ok ? formatDecodedMessage(decoded.value) : undefined,
      })
    }
    const reading = decodeField(message, field, data)
    return isConditionMet(values, { raw: undefined, text: reading?.ok === true ? reading.value.text : undefined })
  }
}
