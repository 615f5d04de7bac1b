/** Token restriction text: what a token is restricted to, in words, for the CLI and the console. */
import type { CredentialRestrictions } from '../bus/call.ts'

/** A text such as `reads, records · device:desk-lamp`; `undefined` for a token that may do whatever its role may. */
export function formatTokenRestrictions(restrictions: CredentialRestrictions | undefined): string | undefined {
  if (restrictions === undefined) return undefined
  const { effects, profiles, devices } = restrictions
  const lists = [effects, profiles?.map((profile) => `profile ${profile}`), devices]
  return lists
    .filter((list) => list !== undefined)
    .map((list) => (list.length === 0 ? 'nothing' : list.join(', ')))
    .join(' · ')
}
