/**
 * Flaky test reporter: names every test that passed only when it was tried again. Tests of what touches the world get a
 * second try, because these machines are shared; a test that needs it is still a defect, of the test or of the product.
 */
import type { Reporter, TestCase } from 'vitest/node'

export default class FlakyTestReporter implements Reporter {
  readonly #flaky: string[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return
    const { errors } = test.result()
    const [reason = 'no reason'] = (errors?.[0]?.message ?? '').split('\n')
    this.#flaky.push(`${test.module.relativeModuleId} > ${test.fullName}: ${reason}`)
  }

  onTestRunEnd(): void {
    for (const name of this.#flaky) process.stderr.write(`*** passed only at the second try: ${name}\n`)
  }
}
