"""The texts of the page of a shared chat, in the languages of the chat page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPageTexts:
    """The texts in one language.

    lang: tag of the language, for the page's `lang`.
    group, point: separator of thousands, and the decimal separator.
    note: the dates, as {created} and {expires}.
    receipt: the numbers of a receipt, as {cached}, {prompt} and {seconds}.
    busy, later: shown when too many links are opened.
    """

    lang: str
    group: str
    point: str
    you: str
    untitled: str
    note: str
    cut: str
    receipt: str
    foot: str
    gone: str
    why: str
    busy: str
    later: str

    def number(self, value: float, *, decimals: int = 0) -> str:
        """Write a number as readers of the language do."""
        whole, dot, rest = f"{value:,.{decimals}f}".partition(".")
        return whole.replace(",", self.group) + (self.point if dot else "") + rest


_EN: Final = SharedPageTexts(
    lang="en",
    group=",",
    point=".",
    you="You",
    untitled="A chat",
    note="Shared on {created}. The link expires on {expires}.",
    cut="This answer is incomplete.",
    receipt="{cached} of {prompt} prompt tokens came from the cache; first token after {seconds} s.",
    foot="A chat with a language model on Ebb. Answers can be wrong.",
    gone="This link does not exist",
    why="The link has expired, was deleted by its owner, or was never made.",
    busy="Too many views",
    later="Try again in a moment.",
)
_DE: Final = SharedPageTexts(
    lang="de",
    group=".",
    point=",",
    you="Du",
    untitled="Ein Chat",
    note="Geteilt am {created}. Der Link läuft am {expires} ab.",
    cut="Diese Antwort ist unvollständig.",
    receipt="{cached} von {prompt} Token des Prompts kamen aus dem Cache; erstes Token nach {seconds} s.",
    foot="Ein Chat mit einem Sprachmodell auf Ebb. Antworten können falsch sein.",
    gone="Diesen Link gibt es nicht",
    why="Der Link ist abgelaufen, wurde gelöscht oder hat nie existiert.",
    busy="Zu viele Aufrufe",
    later="Versuche es gleich noch einmal.",
)
_ES: Final = SharedPageTexts(
    lang="es",
    group=".",
    point=",",
    you="Tú",
    untitled="Un chat",
    note="Compartido el {created}. El enlace caduca el {expires}.",
    cut="Esta respuesta está incompleta.",
    receipt="{cached} de {prompt} tokens del prompt salieron de la caché; primer token a los {seconds} s.",
    foot="Un chat con un modelo de lenguaje en Ebb. Las respuestas pueden ser incorrectas.",
    gone="Este enlace no existe",
    why="El enlace ha caducado, su propietario lo eliminó o nunca existió.",
    busy="Demasiadas visitas",
    later="Inténtalo de nuevo en un momento.",
)
_FR: Final = SharedPageTexts(
    lang="fr",
    group="\u202f",
    point=",",
    you="Vous",
    untitled="Une conversation",
    note="Partagé le {created}. Le lien expire le {expires}.",
    cut="Cette réponse est incomplète.",
    receipt="{cached} tokens du prompt sur {prompt} viennent du cache\u202f; premier token après {seconds} s.",
    foot="Une conversation avec un modèle de langage sur Ebb. Les réponses peuvent être fausses.",
    gone="Ce lien n’existe pas",
    why="Le lien a expiré, a été supprimé par son propriétaire ou n’a jamais existé.",
    busy="Trop de consultations",
    later="Réessayez dans un instant.",
)
_IT: Final = SharedPageTexts(
    lang="it",
    group=".",
    point=",",
    you="Tu",
    untitled="Una chat",
    note="Condivisa il {created}. Il link scade il {expires}.",
    cut="Questa risposta è incompleta.",
    receipt="{cached} token del prompt su {prompt} provengono dalla cache; primo token dopo {seconds} s.",
    foot="Una chat con un modello linguistico su Ebb. Le risposte possono essere sbagliate.",
    gone="Questo link non esiste",
    why="Il link è scaduto, è stato eliminato dal proprietario o non è mai esistito.",
    busy="Troppe visite",
    later="Riprova tra un attimo.",
)
_JA: Final = SharedPageTexts(
    lang="ja",
    group=",",
    point=".",
    you="ユーザー",
    untitled="チャット",
    note="{created} に共有されました。リンクの有効期限は {expires} です。",
    cut="この回答は不完全です。",
    receipt="プロンプト {prompt} トークン中 {cached} トークンがキャッシュ済み。最初のトークンまで {seconds} 秒。",
    foot="Ebb での言語モデルとのチャットです。回答には誤りが含まれることがあります。",
    gone="このリンクは存在しません",
    why="リンクの有効期限が切れたか、所有者が削除したか、もともと存在しません。",
    busy="アクセスが集中しています",
    later="しばらくしてからもう一度お試しください。",
)
_KO: Final = SharedPageTexts(
    lang="ko",
    group=",",
    point=".",
    you="사용자",
    untitled="채팅",
    note="{created}에 공유되었습니다. 링크는 {expires}에 만료됩니다.",
    cut="이 답변은 완전하지 않습니다.",
    receipt="프롬프트 토큰 {prompt}개 중 {cached}개를 캐시에서 가져왔습니다. 첫 토큰까지 {seconds}초.",
    foot="Ebb에서 언어 모델과 나눈 채팅입니다. 답변이 틀릴 수 있습니다.",
    gone="이 링크는 존재하지 않습니다",
    why="링크가 만료되었거나 소유자가 삭제했거나 처음부터 없었습니다.",
    busy="조회가 너무 많습니다",
    later="잠시 후 다시 시도하세요.",
)
_PT: Final = SharedPageTexts(
    lang="pt-BR",
    group=".",
    point=",",
    you="Você",
    untitled="Uma conversa",
    note="Compartilhada em {created}. O link expira em {expires}.",
    cut="Esta resposta está incompleta.",
    receipt="{cached} de {prompt} tokens do prompt vieram do cache; primeiro token após {seconds} s.",
    foot="Uma conversa com um modelo de linguagem no Ebb. As respostas podem estar erradas.",
    gone="Este link não existe",
    why="O link expirou, foi excluído pelo proprietário ou nunca existiu.",
    busy="Visualizações demais",
    later="Tente de novo daqui a pouco.",
)
_RU: Final = SharedPageTexts(
    lang="ru",
    group="\u00a0",
    point=",",
    you="Вы",
    untitled="Чат",
    note="Опубликовано {created}. Ссылка действует до {expires}.",
    cut="Этот ответ неполный.",
    receipt="Токенов запроса из кеша: {cached} из {prompt}; первый токен через {seconds} с.",
    foot="Чат с языковой моделью в Ebb. Ответы могут быть неверными.",
    gone="Такой ссылки нет",
    why="Срок действия ссылки истёк, владелец удалил её, или её никогда не было.",
    busy="Слишком много просмотров",
    later="Повторите попытку чуть позже.",
)
_ZH: Final = SharedPageTexts(
    lang="zh-Hans",
    group=",",
    point=".",
    you="用户",
    untitled="一个对话",
    note="分享于 {created}，链接将于 {expires} 失效。",
    cut="此回答不完整。",
    receipt="提示词共 {prompt} 个 token，其中 {cached} 个来自缓存；{seconds} 秒后出现首个 token。",
    foot="这是在 Ebb 上与语言模型的对话，回答可能有误。",
    gone="此链接不存在",
    why="链接可能已失效、已被所有者删除，或从未存在。",
    busy="访问过多",
    later="请稍后再试。",
)

LANGUAGES: Final[Mapping[str, SharedPageTexts]] = {
    "de": _DE,
    "en": _EN,
    "es": _ES,
    "fr": _FR,
    "it": _IT,
    "ja": _JA,
    "ko": _KO,
    "pt": _PT,
    "ru": _RU,
    "zh": _ZH,
}


def texts_for(languages: str) -> SharedPageTexts:
    """Return the texts in the language that a browser prefers among those of the page; English if it names none.

    languages: its Accept-Language. Regions make no difference (RFC 4647, 3.4).
    """
    ranges = (_range(each) for each in languages.split(","))
    wanted = sorted((each for each in ranges if each[1] > 0), key=lambda each: -each[1])
    return next((LANGUAGES[base] for base, _ in wanted if base in LANGUAGES), _EN)


def _range(text: str) -> tuple[str, float]:
    """Return the language of one range of Accept-Language and its weight (RFC 9110, 12.5.4), 0 if it has no number."""
    tag, _, weight = text.partition(";")
    try:
        quality = float(weight.strip().lower().removeprefix("q=")) if weight.strip() else 1.0
    except ValueError:
        quality = 0.0
    return tag.strip().split("-")[0].lower(), quality
