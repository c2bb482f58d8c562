"""What a request for advice is about, and what preferences of that kind speak of.

"Recommend a restaurant" has no word in common with "I can't stand spicy food", and in a small model's vectors their
words are hardly nearer than any others. So a request is embedded with a few words that wishes about its topic contain.
"""

from __future__ import annotations

import re
from functools import cache

_TOPICS: tuple[tuple[str, str, str], ...] = (
    (
        r"\b(?:restaurants?|eat(?:ing)?|dinner|lunch|breakfast|brunch|supper|meals?|recipes?|cook(?:ing)?|dish(?:es)?|snacks?|"
        r"desserts?|cakes?|menus?|cuisines?|takeaway|takeout|bak(?:e|ing)|food|picnic|barbecue|protein)\b"
        r"|吃|餐|饭|菜|食|零食|甜点|外卖|烧烤|做什么饭",
        "food eating diet vegan spicy meat seafood dairy",
        "饮食 口味 吃辣 素食 海鲜 牛奶",
    ),
    (
        r"\b(?:drinks?|coffee|tea|cocktails?|smoothies?|wine|beer|bar|pub)\b|喝|饮料|咖啡|茶|酒",
        "drinking alcohol caffeine",
        "喝酒 咖啡因",
    ),
    (
        r"\b(?:trips?|travel(?:l?ing)?|holidays?|vacations?|visit|itinerary|getaway|sights|tours?|weekend in|excursion|cruise)\b"
        r"|旅|玩|景点|度假|出游|出国|行程",
        "travel crowds flying hotel tourist",
        "旅行 人多 坐飞机 酒店",
    ),
    (
        r"\b(?:hotels?|stay(?:ing)?|hostels?|accommodation|apartments?|flats?|place to sleep|rent)\b|酒店|住哪|民宿|租房|房子",
        "hotel room noise quiet stairs",
        "房间 吵 安静 楼层",
    ),
    (
        r"\b(?:get (?:from|to|there)|flights?|trains?|cars?|commut\w+|driv\w+|vans?|ferry|bus|bikes?)\b|怎么去|交通|开车|坐车|买车|航班",
        "driving flying car train parking",
        "开车 晕车 坐飞机 火车",
    ),
    (
        r"\b(?:exercises?|workouts?|fitness|stamina|muscles?|sports?|gym|weight|in shape|hik\w+|yoga|marathon|training)\b"
        r"|运动|锻炼|健身|减肥|跑步|爬山|瑜伽",
        "exercise running gym sport knees",
        "运动 跑步 健身房 膝盖",
    ),
    (
        r"\b(?:films?|movies?|series|shows?|watch(?:ing)?|books?|novels?|read(?:ing)?|podcasts?|music|songs?|playlists?|albums?|games?)\b"
        r"|电影|电视剧|剧|书|小说|音乐|歌|游戏|播客|看什么|听什么",
        "stories violence horror music genre long",
        "故事 恐怖 暴力 音乐 类型",
    ),
    (
        r"\b(?:insomnia|sleep(?:ing)?|headaches?|fever|a cold|pain|doctors?|check-up|medicines?|medication)\b|失眠|睡|头疼|感冒|看病|体检|吃药",
        "medicine medication needles doctors health",
        "药 打针 医生 身体",
    ),
    (
        r"\b(?:buy(?:ing)?|get an?|new|gifts?|presents?|jackets?|shoes|boots|clothes|outfits?|wear|phones?|laptops?|shop(?:ping)?)\b"
        r"|买|礼物|衣服|鞋|穿什么|手机|电脑",
        "buying brands fabric leather secondhand",
        "品牌 材质 二手 皮",
    ),
    (
        r"\b(?:learn(?:ing)?|courses?|study(?:ing)?|class(?:es)?|tutorials?|practi[cs]e)\b|学|课|教程|考试",
        "learning lectures reading practice",
        "学习 听课 看书 动手",
    ),
    (
        r"\b(?:jobs?|career|teams?|meetings?|office|colleagues?|employer)\b|工作|跳槽|开会|同事|团队|职业",
        "work office meetings managing salary",
        "工作 办公室 开会 薪水",
    ),
    (
        r"\b(?:furniture|decorat\w+|clean\w*|gardens?|balcony|kitchen|living room|bedroom|flowers?|plants?)\b|家具|装修|打扫|阳台|厨房|客厅|花",
        "home colours smell plants insects",
        "家里 颜色 气味 植物 虫子",
    ),
    (r"\b(?:pets?|dogs?|cats?|animals?)\b|宠物|狗|猫|动物", "allergic fur animals", "过敏 毛 动物"),
    (
        r"\b(?:part(?:y|ies)|friends|meet people|new people|birthday|celebrat\w+|guests|wedding)\b|聚会|朋友|生日|庆祝|客人|婚礼",
        "crowds noise strangers alcohol",
        "人多 吵 陌生人 喝酒",
    ),
    (
        r"\b(?:kids?|child(?:ren)?|sons?|daughters?|baby|toddlers?|year-old)\b|孩子|宝宝|儿子|女儿|小朋友",
        "children parenting screens",
        "孩子 教育 屏幕",
    ),
    (r"\b(?:invest\w*|savings?|financ\w+|loans?|budget)\b|投资|理财|存钱|贷款|预算", "risk debt money", "风险 负债 钱"),
)
"""Patterns of requests, and words of wishes, English and Chinese."""


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern, _, _ in _TOPICS)


def wished_words(request: str) -> str:
    """Words that preferences about the topics of a request contain, in its language; empty for no known topic."""
    chinese = not request.isascii()
    found = zip(_patterns(), _TOPICS, strict=True)
    return " ".join(topic[2 if chinese else 1] for pattern, topic in found if pattern.search(request))
