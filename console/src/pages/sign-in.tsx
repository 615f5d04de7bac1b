/** Sign-in: with the one-time link, or with a token of one's own. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { signIn } from '../core/api.ts'
import { sentenceOf } from '../core/attempt.ts'
import { start, wasEnded } from '../core/live.ts'
import { route } from '../core/route.ts'
import { Flaw } from '../parts/states.tsx'

export function SignInPage(): JSX.Element {
  const { page, rest } = route.value
  const code = page === 'sign-in' ? rest : ''
  const [flaw, setFlaw] = useState('')
  const [token, setToken] = useState('')
  const [busy, setBusy] = useState(code !== '')

  const enter = async (credential: { readonly code: string } | { readonly token: string }): Promise<void> => {
    setBusy(true)
    setFlaw('')
    try {
      await signIn(credential)
      if (page === 'sign-in') location.replace('#/house')
      await start()
    } catch (error) {
      // The code is spent or wrong: it has no business in the address any longer.
      if (code !== '') location.replace('#/sign-in')
      setFlaw(sentenceOf(error))
    } finally {
      setBusy(false)
    }
  }
  useEffect(() => {
    if (code !== '') void enter({ code })
  }, [])

  return (
    <main class="sign-in">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Hearthbus</h1>
      {busy ? <p role="status">Signing in …</p> : null}
      <Flaw text={flaw} />
      {wasEnded.value && flaw === '' ? (
        <p class="note" role="status">
          You are signed out: the gateway was started anew, nobody touched the page for long, or somebody ended the
          session.
        </p>
      ) : null}
      <p>
        On the machine that runs the gateway, type <code>hearthbus console</code> and open the link that it prints. It
        works once. An admin who is signed in can make you one, too, under Settings.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (token !== '') void enter({ token: token.trim() })
        }}
      >
        <label class="field">
          Or sign in with a token of yours, which your browser can keep
          <input
            type="password"
            autocomplete="current-password"
            placeholder="hb_…"
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy || token === ''}>
            Sign in
          </button>
        </div>
      </form>
    </main>
  )
}
