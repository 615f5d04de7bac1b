/**
 * Secret field: which fields of a definition hold an access code or a telephone number. Nobody is shown those, whatever
 * level a file gives them. By name, since no file marks them; the names are those of the official files (PhoneNumber1,
 * KeyCodeforConfigMenu, GsmGprsPin, PppPassword1, Service_passwort, Code2).
 */
import type { DefinedField } from './field.ts'
import type { MessageDefinition } from './message-definition.ts'

/** What stands where a secret would. */
export const SECRET_VALUE_PLACEHOLDER = '(secret)'

const WORDS =
  /phone|telefon|tel_?n(?:o|r|um)|(?:key|pass|access|service|pin|puk|install(?:er)?)_?(?:code|menu)|passwor[dt]|kennwort|(?:^|_)(?:pin|puk|psk)(?:_|\d|$)|^code_?\d*$/i
/** A word within a name: GsmGprsPin, and not Spin. */
const LAST_WORD = /[a-z\d](?:Pin|PIN|Puk)\d*$/

export function isSecretField({ name }: Pick<MessageDefinition, 'name'>, field: Pick<DefinedField, 'name'>): boolean {
  return isSecretName(name) || isSecretName(field.name)
}

function isSecretName(name: string): boolean {
  return WORDS.test(name) || LAST_WORD.test(name)
}
