/**
 * Owner rule: what the owner decided beforehand in the configuration, per tool or device. No argument reaches it.
 *
 *   trust   a sensitive call needs no approval
 *   ask     a change needs approval, sensitive or not
 *   forbid  never
 *
 * Pure.
 */
import { matches } from './pattern.ts'

export interface OwnerRule {
  /** A tool name or the beginning of one followed by `*`. */
  readonly tool?: string
  /** A device as assessments name it, or the beginning of one followed by `*`. */
  readonly target?: string
  readonly says: OwnerWord
}

export type OwnerWord = 'trust' | 'ask' | 'forbid'

/** The strictest word wins, so that the order of the rules cannot open anything. */
const STRICTEST_FIRST: readonly OwnerWord[] = ['forbid', 'ask', 'trust']

/** `undefined`: the owner said nothing about this. A word that nobody knows counts as `forbid`. */
export function ownerWord(
  rules: readonly OwnerRule[],
  call: { readonly tool: string; readonly target: string | undefined },
): OwnerWord | undefined {
  const words = rules.filter((rule) => applies(rule, call)).map((rule) => rule.says)
  if (words.some((word) => !STRICTEST_FIRST.includes(word))) return 'forbid'
  return STRICTEST_FIRST.find((word) => words.includes(word))
}

/** What is wrong with a rule, or `undefined`. The node refuses to start with such a rule. */
export function ownerRuleFlaw(rule: OwnerRule): string | undefined {
  if (!STRICTEST_FIRST.includes(rule.says)) return `the owner's word ${rule.says} means nothing`
  if (rule.tool === undefined && rule.target === undefined) return 'an owner rule names a tool or a target'
  if (rule.says === 'trust' && [rule.tool, rule.target].every((pattern) => pattern === undefined || pattern === '*'))
    return 'an owner rule that trusts everything would leave nothing to approve'
  return undefined
}

function applies(rule: OwnerRule, call: { readonly tool: string; readonly target: string | undefined }): boolean {
  if (rule.tool === undefined && rule.target === undefined) return false
  if (rule.tool !== undefined && !matches(rule.tool, call.tool)) return false
  return rule.target === undefined || (call.target !== undefined && matches(rule.target, call.target))
}
