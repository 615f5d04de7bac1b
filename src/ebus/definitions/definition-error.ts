/**
 * Definition error: why a definition line, a payload or a value was refused, with ebusd's messages, so that its
 * documentation and forum apply here, too.
 */

const TEXTS = {
  empty: 'empty',
  'not-found': 'ERR: element not found',
  'end-of-input': 'ERR: end of input reached',
  'invalid-argument': 'ERR: invalid argument',
  'invalid-number': 'ERR: invalid numeric argument',
  'invalid-address': 'ERR: invalid address',
  'invalid-position': 'ERR: invalid position',
  'out-of-range': 'ERR: argument value out of valid range',
  'invalid-part': 'ERR: invalid part type',
  'missing-argument': 'ERR: missing argument',
  'invalid-list': 'ERR: invalid value list',
  'duplicate-entry': 'ERR: duplicate entry',
  'duplicate-name': 'ERR: duplicate name',
} as const

export type DefinitionErrorCode = keyof typeof TEXTS

/** Why one line was refused; `detail` names the cell. */
export interface DefinitionLineFault {
  readonly code: DefinitionErrorCode
  readonly detail: string
}

/** A fault with its place. The first one in a file ends the reading of that file. */
export interface DefinitionFileFault extends DefinitionLineFault {
  readonly file: string
  readonly line: number
}

export function formatDefinitionErrorCode(code: DefinitionErrorCode): string {
  return TEXTS[code]
}

/** `vaillant/15.ctlv2.csv:232: ERR: element not found, field type X in field 0` */
export function formatDefinitionFileFault({ file, line, code, detail }: DefinitionFileFault): string {
  return `${file}:${line}: ${TEXTS[code]}${detail === '' ? '' : `, ${detail}`}`
}
