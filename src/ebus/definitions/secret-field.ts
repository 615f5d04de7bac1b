/**
 * Secret field: which fields of a definition contain an access code or a telephone number. These are never shown,
 * whatever level a file gives them. They are recognised by their names, since no file marks them; the names are from
 * the official files (PhoneNumber1, KeyCodeforConfigMenu, GsmGprsPin, PppPassword1, Service_passwort, Code2).
 */
import type { DefinedField } from './field.ts'
import type { MessageDefinition } from './message-definition.ts'

/** Shown in place of a secret. */
export const SECRET_VALUE_PLACEHOLDER = '(secret)'

const WORDS =
  /phone|telefon|tel_?n(?:o|r|um)|(?:key|pass|access|service|pin|puk|install(?:er)?)_?(?:code|menu)|passwor[dt]|kennwort|(?:^|_)(?:pin|puk|psk)(?:_|\d|$)|^code_?\d*$/i
/** As a word within a name: GsmGprsPin, but not Spin. */
const LAST_WORD = /[a-z\d](?:Pin|PIN|Puk)\d*$/

export function isSecretField({ name }: Pick<MessageDefinition, 'name'>, field: Pick<DefinedField, 'name'>): boolean {
  return isSecretName(name) || isSecretName(field.name)
}

function isSecretName(name: string): boolean {
  return WORDS.test(name) || LAST_WORD.test(name)
}
