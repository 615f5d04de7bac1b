/**
 * Definition set: the messages of a file with everything that it includes and loads.
 *
 * `all` accepts every line whatever its condition, as ebusd's check mode does. `live` accepts every line, but of
 * several `!load` only the first that applies. `daemon` accepts what a running ebusd accepts: a duplicate ends a file
 * as well.
 *
 * Pure: the texts come through a function.
 */
import type { DefinedField } from './field.ts'
import type { MessageCondition } from './message-condition.ts'
import type { DefinitionLineFault, DefinitionFileFault } from './definition-error.ts'
import type { FileLoadInstruction } from './definition-file-parser.ts'
import { parseDefinitionFile } from './definition-file-parser.ts'
import type { DefinitionFileDefaults } from './definition-file-name.ts'
import { EMPTY_FILE_DEFAULTS, parseDefinitionFileName } from './definition-file-name.ts'
import type { MessageDefinition } from './message-definition.ts'
import type { FieldTemplates } from './field-templates.ts'

export interface DefinitionFileReader {
  /** Returns `undefined` for a missing file. */
  readText(path: string): string | undefined
  /** The templates that apply to a file. */
  templatesFor(path: string): FieldTemplates
}

export interface DefinitionSetOptions {
  readonly source: DefinitionFileReader
  readonly mode: 'all' | 'live' | 'daemon'
  /** Two letters that select one of several columns with one name. */
  readonly language: string
  /** Whether a condition holds now; `undefined` while that is unknown. Without this function, no condition holds. */
  readonly holds?: (condition: MessageCondition) => boolean | undefined
}

const MAX_ROUNDS = 3
/** Limits files that include themselves or each other. */
const MAX_LOADED_FILES = 1_000
const CONDITION_PRIORITY = 5

export class DefinitionSet {
  readonly messages: MessageDefinition[] = []
  readonly faults: DefinitionFileFault[] = []
  readonly loadedFiles: string[] = []
  readonly #options: DefinitionSetOptions
  readonly #names = new Map<string, MessageDefinition[]>()
  readonly #services = new Map<string, MessageDefinition[]>()
  readonly #instructions = new Map<string, FileLoadInstruction[]>()
  readonly #conditions: MessageCondition[] = []
  readonly #loads = new Set<string>()

  constructor(options: DefinitionSetOptions) {
    this.#options = options
  }

  /** Reads a file and what it includes. The fault is that of the file itself. */
  load(path: string, defaults: DefinitionFileDefaults = EMPTY_FILE_DEFAULTS): DefinitionFileFault | undefined {
    const fault = this.#read(path, defaults)
    this.advance()
    return fault
  }

  #read(path: string, inherited: DefinitionFileDefaults): DefinitionFileFault | undefined {
    const { source, mode, language } = this.#options
    const defaults = parseDefinitionFileName(path.slice(path.lastIndexOf('/') + 1)) ?? inherited
    // A file that several others include is read once per set of defaults.
    const key = `${path}\n${defaults.zz}\n${defaults.circuit}\n${defaults.suffix}`
    if ((mode !== 'daemon' && this.#loads.has(key)) || this.loadedFiles.length >= MAX_LOADED_FILES) return undefined
    this.#loads.add(key)
    const text = source.readText(path)
    if (text === undefined) {
      const missing: DefinitionFileFault = { file: path, line: 0, code: 'not-found', detail: '' }
      this.faults.push(missing)
      return missing
    }
    const read = parseDefinitionFile(text, {
      source: path,
      defaults,
      templates: source.templatesFor(path),
      language,
      keepsFirstCondition: mode !== 'daemon',
      accept: (message) => this.#add(message),
    })
    this.loadedFiles.push(path)
    this.#conditions.push(...read.conditions)
    if (read.instructions.length > 0)
      this.#instructions.set(path, [...(this.#instructions.get(path) ?? []), ...read.instructions])
    if (read.fault !== undefined) this.faults.push(read.fault)
    return read.fault
  }

  /** Reads the files that conditions allow by now. */
  advance(): void {
    this.#runInstructions()
    this.#pollConditions()
  }

  /** The conditions that messages and instructions depend on. */
  conditions(): readonly MessageCondition[] {
    return this.#conditions
  }

  /** Files in the order of their names; those that an included file adds come in the same round or the next. */
  #runInstructions(): void {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = this.#instructions.size
      const done: string[] = []
      let hasFailed = false
      let current = this.#nextFile('')
      while (current !== undefined) {
        const { isDone, failed } = this.#runFile(current)
        hasFailed ||= failed
        if (isDone) done.push(current)
        current = this.#nextFile(current)
      }
      const after = this.#instructions.size
      for (const file of done) this.#instructions.delete(file)
      if (hasFailed || after <= before) return
    }
  }

  #nextFile(after: string): string | undefined {
    let next: string | undefined
    for (const file of this.#instructions.keys()) if (file > after && (next === undefined || file < next)) next = file
    return next
  }

  #runFile(file: string): { readonly isDone: boolean; readonly failed: boolean } {
    const isAll = this.#options.mode === 'all'
    let hasLoaded = false
    let isUndecided = false
    let failed = false
    const waiting: FileLoadInstruction[] = []
    for (const instruction of this.#instructions.get(file) ?? []) {
      if (!isAll && hasLoaded && instruction.isExclusive) continue
      const verdict = isAll || this.#verdict(instruction.conditions)
      // A later `!load` applies only if no earlier one does, so the earlier ones must be decided.
      if (verdict !== true || (isUndecided && instruction.isExclusive)) {
        isUndecided ||= verdict === undefined && instruction.isExclusive
        waiting.push(instruction)
        continue
      }
      hasLoaded ||= !isAll && instruction.isExclusive
      failed = this.#read(instruction.path, instruction.defaults) !== undefined || failed
    }
    const left = hasLoaded ? waiting.filter(({ isExclusive }) => !isExclusive) : waiting
    if (left.length > 0) this.#instructions.set(file, left)
    return { isDone: left.length === 0, failed }
  }

  #add(message: MessageDefinition): DefinitionLineFault | undefined {
    const serviceKey = keyOfService(message)
    const nameKey = keyOfName(message.circuit, message)
    const isConditional = message.conditions.length > 0
    if (this.#options.mode === 'daemon') {
      const same = (this.#services.get(serviceKey) ?? []).find(
        (other) => hasSameId(other, message) && this.#isAvailable(other),
      )
      if (same !== undefined && (!isConditional || same.conditions.length === 0))
        return { code: 'duplicate-entry', detail: 'duplicate ID' }
      const [first] = this.#names.get(nameKey) ?? []
      if (first !== undefined && (!isConditional || first.conditions.length === 0))
        return { code: 'duplicate-name', detail: 'invalid name' }
    }
    this.messages.push(message)
    append(this.#services, serviceKey, message)
    append(this.#names, nameKey, message)
    this.#addWithoutCircuit(message)
    return undefined
  }

  /** A lookup without a circuit finds the message of the first circuit in alphabetical order. */
  #addWithoutCircuit(message: MessageDefinition): void {
    const key = keyOfName('', message)
    const [first] = this.#names.get(key) ?? []
    if (first !== undefined && message.circuit.toLowerCase() < first.circuit) {
      const messages = this.#names.get(key)
      if (messages !== undefined) messages[0] = message
    } else if (
      first === undefined ||
      this.#options.mode !== 'daemon' ||
      (message.conditions.length > 0 && first.conditions.length > 0)
    )
      append(this.#names, key, message)
  }

  #isAvailable(message: MessageDefinition): boolean {
    return this.#verdict(message.conditions) === true
  }

  /** A condition that is known not to hold decides, whatever the others are. */
  #verdict(conditions: readonly MessageCondition[]): boolean | undefined {
    const { holds } = this.#options
    const verdicts = new Set(conditions.map((condition) => (holds === undefined ? false : holds(condition))))
    if (verdicts.has(false)) return false
    return verdicts.has(undefined) ? undefined : true
  }

  /** The message of a condition; `undefined` for a device's identification, and if there is none. */
  conditionMessage(condition: MessageCondition): MessageDefinition | undefined {
    const message = this.#findConditionMessage(condition)
    return message === undefined || message.zz !== undefined ? message : this.#addressMessage(message, condition.target)
  }

  #findConditionMessage({ circuit, message, level }: MessageCondition): MessageDefinition | undefined {
    if (message === '') return undefined
    for (const type of ['R', 'P']) {
      const candidates = this.#names.get(`${circuit.toLowerCase()},${message.toLowerCase()}${type}`) ?? []
      const found = candidates.find((candidate) => this.#isAvailable(candidate))
      if (found !== undefined && (found.level === '' || level === '*' || level.split(';').includes(found.level)))
        return found
    }
    return undefined
  }

  /** A message without a target is sent to the device that a condition is about, under a circuit with that address. */
  #addressMessage(message: MessageDefinition, target: number | undefined): MessageDefinition | undefined {
    if (message.isPassive || target === undefined) return undefined
    const circuit = `${message.circuit}.${target.toString(16).padStart(2, '0')}`
    const addressed: MessageDefinition = { ...message, circuit, zz: target }
    const known = this.#services.get(keyOfService(addressed))
    if (known !== undefined) return known.find((other) => hasSameId(other, message) && this.#isAvailable(other))
    this.#add(addressed)
    return addressed
  }

  /** Messages that conditions depend on are polled, or the conditions would never hold. */
  #pollConditions(): void {
    for (const condition of this.#conditions) {
      const message = this.conditionMessage(condition)
      if (message === undefined || message.isPassive || !hasConditionField(message, condition)) continue
      if (/^scan(?:\.[\da-f]{2})?$/i.test(message.circuit)) continue
      if (message.pollPriority === 0 || message.pollPriority > CONDITION_PRIORITY)
        message.pollPriority = CONDITION_PRIORITY
    }
  }
}

function append(index: Map<string, MessageDefinition[]>, key: string, message: MessageDefinition): void {
  const messages = index.get(key)
  if (messages === undefined) index.set(key, [message])
  else messages.push(message)
}

function keyOfName(circuit: string, message: MessageDefinition): string {
  const type = message.isPassive ? 'P' : message.isWrite ? 'W' : 'R'
  return `${circuit.toLowerCase()},${message.name.toLowerCase()}${type}`
}

function keyOfService(message: MessageDefinition): string {
  const type = message.isPassive ? (message.qq ?? 'P') : message.isWrite ? 'W' : 'R'
  return [type, message.zz, message.pb, message.sb, Buffer.from(message.id).toString('hex')].join()
}

/** With several fields, ebusd only requires that one of them is not the one that the condition names. */
function hasConditionField({ fields }: MessageDefinition, { field: name, values }: MessageCondition): boolean {
  if (values.kind === 'seen') return true
  const isWanted = (field: DefinedField): boolean =>
    (field.type.kind === 'number') === (values.kind === 'numbers') && (name === '' || field.name === name)
  const [only] = fields
  return fields.length === 1 && only !== undefined ? isWanted(only) : fields.some((field) => !isWanted(field))
}

/** Two chains are the same if they share a part. */
function hasSameId(left: MessageDefinition, right: MessageDefinition): boolean {
  if (left.chain.length === 0 || right.chain.length === 0) return left.chain.length === right.chain.length
  return left.chain.some((part) => right.chain.some(({ id }) => Buffer.compare(part.id, id) === 0))
}
