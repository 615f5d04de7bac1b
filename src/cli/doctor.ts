/**
 * Doctor: what is wrong and what to do about it, as an answer of this program.
 */
import type { FindingView } from '../web/views.ts'
import { EXIT } from './print.ts'
import type { CommandAnswer } from './print.ts'

/** Warnings leave the exit code alone: a script that runs it every night should not cry over them. */
export function formatDoctorFindings(findings: readonly FindingView[]): CommandAnswer {
  const marks = { ok: '✓', warn: '!', fail: '✗' } as const
  const failed = findings.some((finding) => finding.level === 'fail')
  const warned = findings.some((finding) => finding.level === 'warn')
  const closing = failed
    ? 'Something is wrong (✗).'
    : warned
      ? 'Nothing is broken; what is marked ! may need you.'
      : 'All is well.'
  return {
    json: findings.map((finding) => ({ ...finding })),
    text: [...findings.map(({ level, about, sentence }) => `${marks[level]} ${about}: ${sentence}`), '', closing].join(
      '\n',
    ),
    exit: failed ? EXIT.integrity : EXIT.ok,
  }
}
