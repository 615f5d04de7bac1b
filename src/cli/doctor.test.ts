import { describe, expect, it } from 'vitest'
import { formatDoctorFindings } from './doctor.ts'

function closing(...levels: readonly ('ok' | 'warn' | 'fail')[]): readonly unknown[] {
  const { text, exit } = formatDoctorFindings(
    levels.map((level) => ({ level, about: 'something', sentence: 'is as it is.' })),
  )
  return [text.split('\n').at(-1), exit]
}

describe('doctor', () => {
  it('prints "All is well." only when no check warns or fails', () => {
    expect(closing('ok', 'ok')).toEqual(['All is well.', 0])
    expect(closing('ok', 'warn')).toEqual(['Nothing is broken; what is marked ! may need you.', 0])
    expect(closing('warn', 'fail')).toEqual(['Something is wrong (✗).', 5])
  })
})
