/**
 * Doctor: prints the findings of an examination.
 */
import { formatFindingLines } from '../core/doctor-finding.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { EXIT_CODES } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

/** Warnings do not change the exit code, so that a script that runs it every night reports failures only. */
export function formatDoctorFindings(findings: readonly DoctorFinding[]): CommandAnswer {
  const failed = findings.some((finding) => finding.level === 'fail')
  const warned = findings.some((finding) => finding.level === 'warn')
  const closing = failed
    ? 'Something is wrong (✗).'
    : warned
      ? 'Nothing is broken; what is marked ! may need you.'
      : 'All is well.'
  return {
    json: findings.map((finding) => ({ ...finding })),
    text: [...formatFindingLines(findings), '', closing].join('\n'),
    exit: failed ? EXIT_CODES.integrity : EXIT_CODES.ok,
  }
}
