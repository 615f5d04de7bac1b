/**
 * Definition file name: defaults for the messages of a definition file that its name contains.
 *
 *   ZZ.[ident.][circuit.][n.]…[SWxxxx.][HWxxxx.]csv     15.360.csv   08..hc.csv   52.mc2.mc.4.csv   15.350.HW7102.csv
 */
import { classifyAddress } from '../wire/address.ts'
import { parseBoundedNumber } from './scan-number.ts'

export interface DefinitionFileDefaults {
  /** Two hexadecimal digits, as in the name; empty if the name has none. */
  readonly zz: string
  readonly circuit: string
  /** `.4` */
  readonly suffix: string
  /** The beginning of a device's identification, in lower case. */
  readonly ident: string
}

export interface ParsedDefinitionFileName extends DefinitionFileDefaults {
  readonly address: number
  readonly software: number | undefined
  readonly hardware: number | undefined
}

export const EMPTY_FILE_DEFAULTS: DefinitionFileDefaults = { zz: '', circuit: '', suffix: '', ident: '' }

/** `undefined` for a name that begins with no address. */
export function parseDefinitionFileName(fileName: string): ParsedDefinitionFileName | undefined {
  let rest = fileName.length > 4 && fileName.endsWith('.csv') ? fileName.slice(0, -3) : fileName
  if (rest.indexOf('.') !== 2) return undefined
  const zz = rest.slice(0, 2)
  const address = parseBoundedNumber(zz, { base: 16, min: 0, max: 0xff })
  if (typeof address !== 'number' || classifyAddress(address) === 'reserved') return undefined
  rest = rest.slice(2)
  const versions: Record<'SW' | 'HW', number | undefined> = { SW: undefined, HW: undefined }
  for (const kind of ['SW', 'HW'] as const) {
    const at = rest.lastIndexOf(`.${kind}`)
    if (rest.length <= 1 || at < 0 || rest.indexOf('.', at + 1) !== at + 7) continue
    const version = parseBoundedNumber(rest.slice(at + 3, at + 7), { base: 10, min: 0, max: 9_999 })
    if (typeof version !== 'number') return undefined
    versions[kind] = version
    rest = rest.slice(0, at) + rest.slice(at + 7)
  }
  return { zz, address, software: versions.SW, hardware: versions.HW, ...nameParts(rest) }
}

/**
 * Parses `.ident.circuit.n.` An ident has at most five characters, and so has the circuit, unless another part follows.
 */
function nameParts(text: string): Pick<DefinitionFileDefaults, 'circuit' | 'suffix' | 'ident'> {
  const identEnd = text.indexOf('.', 1)
  if (text.length <= 1 || identEnd < 1 || identEnd > 6) return { circuit: '', suffix: '', ident: '' }
  const ident = text.slice(1, identEnd)
  let circuit = ident
  let rest = text.slice(identEnd)
  let end = rest.indexOf('.', 1)
  if (end >= 0 && (end > 2 || !isDigit(rest[1]))) {
    circuit = rest.slice(1, end)
    rest = rest.slice(end)
    end = rest.indexOf('.', 1)
  }
  return { ident, circuit, suffix: end === 2 && isDigit(rest[1]) ? rest.slice(0, 2) : '' }
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9'
}
