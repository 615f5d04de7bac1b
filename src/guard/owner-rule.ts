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

/** One call, as rules name it. */
export interface RuledCall {
  readonly tool: string
  readonly target: string | undefined
  /** Devices that it reaches beside its target, or might. */
  readonly touches?: readonly string[] | undefined
  readonly mayTouch?: readonly string[] | undefined
}

/** `undefined`: the owner said nothing about this. A word that nobody knows counts as `forbid`. */
export function ownerWord(
  rules: readonly OwnerRule[],
  { tool, target, touches = [], mayTouch = [] }: RuledCall,
): OwnerWord | undefined {
  const words = [
    ...wordsAbout(rules, tool, target),
    // Trust in a lamp is no trust in whatever else switches it.
    ...[...touches, ...mayTouch]
      .flatMap((device) => wordsAbout(rules, tool, device))
      .filter((word) => word !== 'trust'),
  ]
  if (words.some((word) => !STRICTEST_FIRST.includes(word))) return 'forbid'
  return STRICTEST_FIRST.find((word) => words.includes(word))
}

function wordsAbout(rules: readonly OwnerRule[], tool: string, target: string | undefined): readonly OwnerWord[] {
  return rules.filter((rule) => applies(rule, tool, target)).map((rule) => rule.says)
}

/** What is wrong with a rule, or `undefined`. The node refuses to start with such a rule. */
export function ownerRuleFlaw(rule: OwnerRule): string | undefined {
  if (!STRICTEST_FIRST.includes(rule.says)) return `the owner's word ${rule.says} means nothing`
  if (rule.tool === undefined && rule.target === undefined) return 'an owner rule names a tool or a target'
  if (rule.says === 'trust' && [rule.tool, rule.target].every((pattern) => pattern === undefined || pattern === '*'))
    return 'an owner rule that trusts everything would leave nothing to approve'
  return undefined
}

function applies(rule: OwnerRule, tool: string, target: string | undefined): boolean {
  if (rule.tool === undefined && rule.target === undefined) return false
  if (rule.tool !== undefined && !matches(rule.tool, tool)) return false
  return rule.target === undefined || (target !== undefined && matches(rule.target, target))
}
